"""A real Chromium for the tests that need one."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from functools import cache

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    ViewportSize,
    expect,
    sync_playwright,
)

NAMES = ("chromium", "chromium-browser", "google-chrome")
WITHOUT_WINDOWS = "chromium-headless-shell"
"""Debian's Chromium without what draws windows, which no test sees: a third less processor time"""
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
ONE_PROCESS = "--renderer-process-limit=1"
"""a new page finds the process of an open one, and what this has compiled; benchmarks do without it"""
TIMEOUT = 120_000
"""milliseconds: what takes a second on an idle machine may take a minute on a loaded one"""
expect.set_options(timeout=TIMEOUT)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """One for all modules of this process of pytest, because each takes two seconds of processor time.

    It runs an event loop in this thread, and with this one other modules could run none: `chromium` sets it.
    """
    with sync_playwright() as playwright:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield playwright
        asyncio._set_running_loop(loop)


@pytest.fixture(scope="module")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """Chromium, and Playwright's event loop while the tests of a module use it."""
    with pytest.MonkeyPatch.context() as patch:
        # in the thread of an event loop, Django would refuse to ask the database
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        asyncio._set_running_loop(playwright._loop)
        try:
            if not _launched(playwright).is_connected():
                _launched.cache_clear()
            yield _launched(playwright)
        finally:
            asyncio._set_running_loop(None)


@cache
def _launched(playwright: Playwright) -> Browser:
    executable = next((found for name in (WITHOUT_WINDOWS, *NAMES) if (found := shutil.which(name))), None)
    if executable is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs Chromium: apt-get install chromium")
        pytest.skip("Chromium isn't installed: apt-get install chromium")
    return playwright.chromium.launch(executable_path=executable, args=[*ARGUMENTS, ONE_PROCESS])


@cache
def opened(chromium: Browser, url: str, width: int, height: int) -> BrowserContext:
    """A context for all tests of this process that open pages below `url`, at which a page stays open.

    A context for each test takes a second of processor time, and another one to compile the page's scripts.
    It is closed with the browser.
    """
    size: ViewportSize = {"width": width, "height": height}
    context = chromium.new_context(base_url=url, viewport=size, timezone_id="UTC")
    context.set_default_timeout(TIMEOUT)
    context.new_page().goto(url)
    return context


def new_page(context: BrowserContext, url: str) -> Page:
    """A page that finds nothing of the tests before it at the origin `url`: no cookies and nothing stored."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": "all"})
    context.clear_cookies()
    return page
