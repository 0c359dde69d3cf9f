"""A real Chromium for the tests that need one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
TIMEOUT = 120_000
"""milliseconds: what takes a second on an idle machine may take a minute on a loaded one"""
expect.set_options(timeout=TIMEOUT)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A module's: Playwright runs an event loop in this thread, which tests of coroutines can't share."""
    executable = next((found for name in NAMES if (found := shutil.which(name))), None)
    if executable is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs Chromium: apt-get install chromium")
        pytest.skip("Chromium isn't installed: apt-get install chromium")
    # for the same reason, Django would refuse to ask the database
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
