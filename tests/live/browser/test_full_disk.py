"""A full disk is told on the page, and so is its end."""

from live.full_disk import full_disk
from live.server.fakes import MadeUpSource
from live.server.serving import serving

from .conftest import Heard, listen


def test_a_full_disk_is_told_with_what_waits_and_so_is_its_end(browser, tmp_path):
    heard = Heard()
    with serving(tmp_path, MadeUpSource(rate_Hz=200)) as served, browser.new_context() as context:
        page = context.new_page()
        listen(page, heard)
        page.goto(served.door.link())
        page.wait_for_url("**/")
        page.wait_for_selector("#traces canvas")
        assert page.is_hidden("#unstored")
        with full_disk(served.live.store):
            page.wait_for_selector("#unstored", state="visible")
            told = page.inner_text("#unstored")
            assert "not being saved" in told and "disk is full" in told and "Check the space" in told
            page.wait_for_function(
                "() => /^[1-9]\\d* rows wait/.test(document.querySelector('#unstored-count').textContent)"
            )
            drawn = "document.querySelector('#traces canvas').toDataURL()"
            page.wait_for_function("before => (" + drawn + ") !== before", arg=page.evaluate(drawn))
        page.wait_for_selector("#unstored", state="hidden")
        page.wait_for_selector("#toast:has-text('saved')")
        assert heard.errors == []
