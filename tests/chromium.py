"""A real Chromium for the tests that need one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

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
ONE_PROCESS = "--process-per-site"
"""a new page finds the process of an open one, and what this has compiled; benchmarks do without it"""
TIMEOUT = 120_000
"""milliseconds: what takes a second on an idle machine may take a minute on a loaded one"""
expect.set_options(timeout=TIMEOUT)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A module's: Playwright runs an event loop in this thread, which tests of coroutines can't share."""
    executable = next((found for name in (WITHOUT_WINDOWS, *NAMES) if (found := shutil.which(name))), None)
    if executable is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs Chromium: apt-get install chromium")
        pytest.skip("Chromium isn't installed: apt-get install chromium")
    # for the same reason, Django would refuse to ask the database
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[*ARGUMENTS, ONE_PROCESS])
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def opened(chromium: Browser, url: str, **options: Any) -> BrowserContext:
    """A context for all tests of a module, with a page at `url` that stays open.

    A context for each test takes a second of processor time, and another one to compile the page's scripts.
    It is closed with the browser.
    """
    context = chromium.new_context(**options)
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
