"""An Observatory with an archive in a folder, in which a run of many tasks is stored."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from benchmarks import scale
from tests.browser.observatory import Observatory
from tests.support.chromium import ARGUMENTS, NAMES


@dataclass(frozen=True, slots=True)
class ServedRun:
    """A server, a browser, and a cluster with the tasks."""

    server: Observatory
    browser: Browser
    state: Any
    """of a browser that is signed in"""
    cluster: int

    @property
    def url(self) -> str:
        return f"{self.server.url}/clusters/{self.cluster}/"


@contextmanager
def served_run(tasks: int) -> Iterator[ServedRun]:
    """Start a new Observatory and store a run; this process uses its database and archive as well."""
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    folder.chmod(0o711)  # under root its processes are another user's
    archive = folder / "archive"
    archive.mkdir()
    server = Observatory(folder / "data")
    server.environment["OBSERVATORY_ARCHIVE"] = str(archive)
    os.environ.update(
        OBSERVATORY_ARCHIVE=str(archive),
        OBSERVATORY_DATA_DIR=str(server.data_dir),
        DJANGO_ALLOW_ASYNC_UNSAFE="1",  # Playwright runs an event loop in this thread
    )
    try:
        server.start()
        owner = server.data_dir.stat()
        os.chown(archive, owner.st_uid, owner.st_gid)  # what this process writes there is that user's, too
        clusters, _ = scale.store(server, [tasks])
        # static files are compressed in a server's first minute
        server.stop()
        server.start()
        reconnect()
        with sync_playwright() as playwright:
            executable = next(found for name in NAMES if (found := shutil.which(name)))
            browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
            try:
                yield ServedRun(server, browser, signed_in(browser, server), clusters[tasks])
            finally:
                browser.close()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def reconnect() -> None:
    """The server was restarted."""
    from django.db import connection

    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]


def signed_in(browser: Browser, server: Observatory) -> Any:
    context = browser.new_context()
    server.sign_in(context.new_page())  # the link signs in once
    return context.storage_state()
