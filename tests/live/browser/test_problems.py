"""What goes wrong outside is shown on the page: a full disk, and a board that talks nonsense."""

import asyncio

from tests.live.full_disk import full_disk
from tests.live.server.fakes import MadeUpSource
from tests.live.server.serving import serving
from unmixnet.live.sample import Rejected, SourceEvent

from .conftest import BrowserLog, listen


def test_a_full_disk_is_told_with_what_waits_and_so_is_its_end(browser, tmp_path):
    log = BrowserLog()
    with serving(tmp_path, MadeUpSource(rate_Hz=200)) as served, browser.new_context() as context:
        page = context.new_page()
        listen(page, log)
        page.goto(served.auth.link())
        page.wait_for_url("**/")
        page.wait_for_selector("#traces canvas")
        assert page.is_hidden("#unstored")
        with full_disk(served.live.store):
            page.wait_for_selector("#unstored", state="visible")
            banner = page.inner_text("#unstored")
            assert "not being saved" in banner and "disk is full" in banner and "Check the space" in banner
            assert str(tmp_path) not in banner
            page.wait_for_function(
                "() => /^[1-9]\\d* rows wait/.test(document.querySelector('#unstored-count').textContent)"
            )
            drawn = "document.querySelector('#traces canvas').toDataURL()"
            page.wait_for_function("before => (" + drawn + ") !== before", arg=page.evaluate(drawn))
        page.wait_for_selector("#unstored", state="hidden")
        page.wait_for_selector("#toast:has-text('saved')")
        assert log.errors == []


class Nonsense:
    """A board whose speed is another."""

    name, unit, channels = "a board", "counts", None

    async def stream(self):
        yield SourceEvent("connected", "The port is open.")
        while True:
            yield Rejected("it is no text", "\ufffd")
            await asyncio.sleep(0.05)


def test_a_board_that_talks_nonsense_is_told_with_what_to_try(browser, tmp_path):
    with serving(tmp_path, Nonsense()) as served, browser.new_context() as context:
        page = context.new_page()
        page.goto(served.auth.link())
        page.wait_for_url("**/")
        page.wait_for_selector("#headline:has-text('but no readings')")
        assert "--baud" in page.inner_text("#lead")
        page.wait_for_function("() => /[1-9]\\d* bad lines/.test(document.querySelector('#source').textContent)")
