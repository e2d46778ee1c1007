"""Names that would like to be markup stay text, wherever the page shows them."""

from tests.inference.report.hostile import HOSTILE
from tests.live.server.fakes import MadeUpSource
from tests.live.server.serving import serving

from .conftest import BrowserLog, listen

NAMES = tuple(dict.fromkeys(name for name in HOSTILE if name.isprintable() and name.strip()))
MORE = ("<img src=x onerror=window.hit=1>", "<svg/onload=window.hit=1>", "${window.hit=1}", "<iframe srcdoc='<b>'>")


def names() -> tuple[str, ...]:
    """Twenty of them."""
    names = (*MORE, *NAMES, *(f"<b>{i}</b>" for i in range(20)))
    return tuple(dict.fromkeys(name[:60] for name in names))[:20]


def test_twenty_hostile_channel_names_stay_text(browser, tmp_path):
    log = BrowserLog()
    assert len(names()) == 20
    with serving(tmp_path, MadeUpSource(names())) as served, browser.new_context() as context:
        page = context.new_page()
        listen(page, log)
        page.goto(served.auth.link())
        page.wait_for_url("**/")
        page.wait_for_function("() => document.querySelectorAll('#traces .panel').length === 20")
        assert page.locator("#traces h3").all_text_contents() == list(names())
        served.client.post("/api/marks", json={"text": MORE[0]})
        served.client.post("/api/recording", json={"name": MORE[1], "label": [{"name": MORE[0], "share": 1}]})
        page.wait_for_selector("#recbar", state="visible")
        assert MORE[1] in page.inner_text("#recbar") and MORE[0] in page.inner_text("#marks")
        assert page.evaluate("window.hit") is None
        inside = page.evaluate("[...document.querySelectorAll('main img, main iframe, main script, main b b')].length")
        assert inside == 0 and log.errors == []
