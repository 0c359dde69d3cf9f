"""The web process alone on the database of the tests, for settings that are read at its start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from observatory.runtime.supervision.subprocesses import die_with_parent
from tests.browser.observatory import ROOT

COMMAND = ("-m", "uvicorn", "observatory.config.asgi:application", "--no-access-log", "--no-proxy-headers")


@contextmanager
def web_process(folder: Path, port: int, **environment: str) -> Iterator[str]:
    """Yields its own address. Tests need `transactional_db`, for it sees only what is committed."""
    own = f"http://127.0.0.1:{port}"
    variables = {"OBSERVATORY_DATA_DIR": str(folder), "DATABASE_URL": database_url(), **environment}
    variables["OBSERVATORY_SECRET_KEY"] = settings.SECRET_KEY
    with (folder / "web.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *COMMAND, "--port", str(port)],
            cwd=ROOT,
            env=os.environ | variables,
            stdout=log,
            stderr=log,
            preexec_fn=die_with_parent(),
        )
    try:
        deadline = time.monotonic() + 120
        while not _answers(f"{own}/healthz"):
            assert process.poll() is None, (folder / "web.log").read_text()
            assert time.monotonic() < deadline, "the web process didn't start"
            time.sleep(0.1)
        yield own
    finally:
        process.terminate()
        process.wait(120)


def database_url() -> str:
    """The URL of the tests' database, which has a name of its own."""
    server = urlsplit(os.environ["DATABASE_URL"])
    return server._replace(path=f"/{connection.settings_dict['NAME']}").geturl()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
