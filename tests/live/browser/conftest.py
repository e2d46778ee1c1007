"""Debian's Chromium, and `unmixnet live --simulate` as a process of its own."""

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.live.server_process import linked

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SPEED = 20
PATIENCE_S = float(os.environ.get("UNMIXNET_PATIENCE_S", "120"))
"""How long a step may take; a machine that has much else to do needs more."""


@dataclass
class BrowserLog:
    """Errors in the browser's console, and the addresses of its requests."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser():
    """A browser for one file: Playwright runs an event loop in this thread, and tests that follow need their own."""
    if not os.path.exists(CHROMIUM):
        pytest.skip("there is no Chromium; on Debian: apt install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="there is no playwright; pip install playwright")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()


@pytest.fixture(scope="module")
def link(tmp_path_factory) -> Iterator[str]:
    """The link that the command prints."""
    folder = tmp_path_factory.mktemp("live")
    arguments = f"--simulate --speed {SPEED} --port 0 --lesson-epochs 1 --store kept.db".split()
    environment = {"JAX_PLATFORMS": "cpu", **os.environ}
    command = [sys.executable, "-m", "unmixnet", "live", *arguments]
    with linked(command, cwd=folder, env=environment) as link:
        yield link


@pytest.fixture(scope="module")
def log() -> BrowserLog:
    return BrowserLog()


@pytest.fixture(scope="module")
def page(browser, link, log):
    with browser.new_context(accept_downloads=True) as context:
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        listen(page, log)
        page.goto(link)
        page.wait_for_url("**/")
        yield page


def listen(page, log: BrowserLog) -> None:
    page.on("console", lambda message: log.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: log.errors.append(str(error)))
    page.on("request", lambda request: log.requests.append(request.url))
