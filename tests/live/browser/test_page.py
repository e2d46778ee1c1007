"""The page in a real browser: it moves, marks, records, calibrates, teaches, unmixes a file, and stays at home.

The tests share one server, as one person's session; each of them also passes by itself.
"""

import re
import zipfile
from urllib.parse import urlsplit

import pytest

from unmixnet.examples import example_recording

LESSON_S = 600
"""Teaching trains five models, beside everything else that a machine does."""
MIXTURE = "() => document.querySelector('#history-keys').children.length > 0"


def tab(page, name: str) -> None:
    """Open a tab. The page shows it when it hears of the new address, which may be after the click has returned."""
    page.click(f".tabs a[href='#{name}']")
    page.wait_for_selector(f"#tab-{name}", state="visible")


def samples(page) -> int:
    match = re.search(r"([\d,]+) samples", page.inner_text("#source"))
    return int(match[1].replace(",", "")) if match else 0


def settled(page) -> None:
    """No recording is running."""
    page.wait_for_selector("#recbar", state="hidden")


def test_traces_move(page):
    page.wait_for_function("() => /samples/.test(document.querySelector('#source').textContent)")
    page.wait_for_selector("#traces canvas")
    assert page.locator("#traces .panel").count() == 4
    drawn = "[...document.querySelectorAll('#traces canvas')].map(canvas => canvas.toDataURL()).join()"
    before, count = page.evaluate(drawn), samples(page)
    page.wait_for_function("before => (" + drawn + ") !== before", arg=before)
    assert samples(page) >= count


def test_bars_follow_what_is_released(page):
    tab(page, "live")
    page.click("#release-air")
    page.wait_for_selector("#headline:has-text('Nothing above background')")
    page.select_option("#release-a", "mango")
    page.select_option("#release-b", "strawberry")
    page.fill("#release-share", "20")
    page.click("#release-form button[type=submit]")
    page.wait_for_function("() => document.querySelectorAll('#bars .bar').length > 0")
    page.wait_for_function(MIXTURE)
    widths = "[...document.querySelectorAll('#bars .fill')].map(bar => bar.style.width).join()"
    first = page.evaluate(widths)
    page.wait_for_function("first => (" + widths + ") !== first", arg=first)
    assert "Waiting" not in page.inner_text("#headline")
    assert page.locator("#chamber circle.cell").count() == 8
    assert page.locator("#laws li").count() == 4 and page.inner_text("#unit") == "counts"


def test_an_event_is_marked_by_its_key(page):
    tab(page, "live")
    page.wait_for_function("() => /samples/.test(document.querySelector('#source').textContent)")
    page.fill("#mark-text", "lid opened")
    page.locator("h1:visible").click()
    page.keyboard.press("m")
    page.wait_for_selector("#marks li:has-text('lid opened')")
    newest = page.locator("#marks li").first
    assert re.fullmatch(r"\d+:\d\d\s+lid opened", newest.inner_text()), newest.inner_text()
    page.wait_for_selector("#toast:has-text('Marked: lid opened')")
    page.fill("#mark-text", "")


def test_a_recording_starts_and_stops_by_its_key(page):
    tab(page, "live")
    settled(page)
    page.fill("#record-name", "kitchen")
    page.locator("h1:visible").click()
    page.keyboard.press("r")
    page.wait_for_selector("#recbar", state="visible")
    assert page.inner_text("#rec-name") == "kitchen" and "Stop" in page.inner_text("#record-go")
    page.wait_for_function("() => !/^0:0[0-2]/.test(document.querySelector('#rec-time').textContent)")
    page.keyboard.press("r")
    page.wait_for_selector("#recordings tr:has-text('kitchen')")
    page.wait_for_selector("#toast:has-text('Recorded.')")
    settled(page)
    assert page.inner_text("#record-go").startswith("Record")
    text = page.locator("#recordings tr", has_text="kitchen").inner_text()
    took = re.search(r"\d+:\d\d", text)
    assert took and took[0] != "0:00", text


def test_typing_a_name_marks_nothing(page):
    tab(page, "live")
    before = page.locator("#marks li").all_inner_texts()
    page.locator("#record-name").press_sequentially("rmrm")
    assert page.locator("#marks li").all_inner_texts() == before and page.is_hidden("#recbar")
    page.fill("#record-name", "")


def calibrated(page) -> str:
    """What the page says after a calibration."""
    page.evaluate("document.querySelector('#toast').hidden = true")  # that of a test before
    page.click("#calibrate-go")
    page.wait_for_selector("#calibration-undo, #toast:visible")
    assert page.is_hidden("#toast"), page.inner_text("#toast")
    return page.inner_text("#calibration")


def undone(page) -> None:
    page.click("#calibration-undo")
    page.wait_for_selector("#calibration >> text=Not calibrated")


@pytest.mark.soak
def test_it_calibrates_on_clean_air_and_a_reference_and_undoes_it(page):
    tab(page, "calibrate")
    settled(page)
    assert float(page.input_value("#air-seconds")) >= 59.5  # what the model needs
    page.click("#air-form button")
    page.wait_for_selector("#calibrate-list label:has-text('clean air')")
    settled(page)
    text = calibrated(page)
    assert re.search(r"Calibrated[^M]*offsets from clean air", text) and all(f"MOX{m}" in text for m in range(1, 5))
    undone(page)
    page.select_option("#reference-parts select", "mango")
    page.click("#reference-form button[type=submit]")
    page.wait_for_selector("#calibrate-list label:has-text('mango')")
    text = calibrated(page)
    assert re.search(r"before\s+[\d.]+ points", text) and re.search(r"after.*\s+[\d.]+ points", text), text
    assert ("Calibrated" in text) == ("MOX1" in text)  # or else there was nothing to change
    undone(page)


@pytest.mark.soak
def test_it_teaches_two_substances(page):
    tab(page, "teach")
    count = "before => document.querySelectorAll('#teach-list label').length > before"
    for name in ("mango", "clove", "mango", "clove"):
        settled(page)
        before = page.locator("#teach-list label").count()
        page.fill("#example-parts input[list]", name)
        page.fill("#example-seconds", "12")
        page.click("#example-form button[type=submit]")
        page.wait_for_function(count, arg=before)  # it may be over before anybody sees that it runs
    for box in page.locator("#teach-list label").all():
        if "0:12" not in box.inner_text():
            box.locator("input").uncheck()
    page.fill("#teach-name", "my kitchen")
    page.click("#teach-go")
    page.wait_for_selector("#lesson", state="visible")
    page.wait_for_selector("#models tr:has-text('my kitchen'), #models .bad", timeout=LESSON_S * 1000)
    assert page.locator("#models .bad").count() == 0, page.inner_text("#models .bad")
    row = page.locator("#models tr", has_text="my kitchen")
    assert re.search(r"[\d.]+ points", row.inner_text()) and "clove, mango" in row.inner_text()
    row.locator("button").click()
    page.wait_for_selector("#models tr:has-text('my kitchen') >> text=in use")
    page.locator("#models tr", has_text="simulated").locator("button").click()
    page.wait_for_selector("#models tr:has-text('simulated') >> text=in use")


def test_a_file_is_unmixed_and_its_report_downloaded(page, tmp_path):
    tab(page, "file")
    page.set_input_files("#file-input", str(example_recording()))
    page.wait_for_selector("#answer", state="visible")
    largest = page.locator("#answer-bars .name").first.inner_text()
    assert largest in page.inner_text("#answer-headline").lower()
    with page.expect_download() as report:
        page.click("#answer-page")
    report.value.save_as(tmp_path / "report.html")
    assert largest in (tmp_path / "report.html").read_text(encoding="utf-8")
    with page.expect_download() as archive:
        page.click("#answer-zip")
    archive.value.save_as(tmp_path / "report.zip")
    names = {name.split("/")[-1] for name in zipfile.ZipFile(tmp_path / "report.zip").namelist()}
    assert names == {"index.html", "answer.json", "traces.csv", "states.csv"}


def test_a_file_that_is_no_recording_is_refused_in_words(page, tmp_path, log):
    tab(page, "file")
    (tmp_path / "poem.txt").write_text("shall I compare thee\n")
    page.set_input_files("#file-input", str(tmp_path / "poem.txt"))
    page.wait_for_selector("#file-status.bad")
    assert "poem.txt" in page.inner_text("#file-status") and "/tmp" not in page.inner_text("#file-status")
    log.errors[:] = [error for error in log.errors if "409" not in error]  # Chromium notes every refusal


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_tab_fits_its_window(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)
    for name in ("live", "calibrate", "teach", "file"):
        tab(page, name)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    page.set_viewport_size({"width": 1280, "height": 844})


def test_every_control_has_a_name_and_shows_its_focus(page):
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('input, select, button, progress')].filter(one =>
             !one.labels?.length && !one.getAttribute('aria-label') && !one.textContent.trim()).map(one => one.id)"""
    )
    assert unnamed == []
    tab(page, "live")
    page.locator("#record-name").focus()
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert page.evaluate("document.activeElement.id") == "record-go" and outline == "solid"


def test_nothing_went_wrong_and_nobody_else_was_asked(page, log, link):
    """Last in the file: it speaks of all the others."""
    assert log.errors == []
    home = urlsplit(link).netloc
    assert len(log.requests) > 20
    assert {urlsplit(url).netloc for url in log.requests if not url.startswith("blob:")} == {home}
