"""One PostgreSQL and one Valkey for all tests: the embedded ones, unless the environment names others.

A plugin, named in pyproject.toml: pytest-django reads the settings before any conftest.py is loaded.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.folder import DataFolder
from observatory.runtime.embedded.postgres import Postgres
from observatory.runtime.embedded.valkey import Valkey
from observatory.runtime.supervision.children import dying_with_us

OURS = "OBSERVATORY_TESTS_STARTED"
"""tells xdist's processes which variables their parent set: each has services of its own"""

_started: list[subprocess.Popen[bytes]] = []
_folder = Path(tempfile.mkdtemp(prefix="observatory-tests-"))


def _start(service: Postgres | Valkey) -> None:
    service.prepare()
    with (_folder / "services.log").open("ab") as log:
        process = subprocess.Popen(
            service.command(),
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for the tests, which stop the services themselves
            preexec_fn=dying_with_us(),
            **service.options(),
        )
    _started.append(process)
    deadline = time.monotonic() + 60
    while not service.is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError((_folder / "services.log").read_text()[-2000:])
        time.sleep(0.05)


def _services() -> None:
    """Before Django's settings are read: they take the services from the environment."""
    for name in os.environ.pop(OURS, "").split():
        del os.environ[name]
    ours = []
    os.environ["OBSERVATORY_DATA_DIR"] = str(_folder / "data")
    if "OBSERVATORY_TEST_DATABASE_URL" in os.environ:
        os.environ["DATABASE_URL"] = os.environ["OBSERVATORY_TEST_DATABASE_URL"]
    folder = DataFolder(_folder / "data", service_account())
    folder.prepare()
    if not os.environ.get("DATABASE_URL"):
        _start(Postgres(folder))
        os.environ["DATABASE_URL"] = f"postgresql://observatory@/observatory?host={folder.run}"
        ours.append("DATABASE_URL")
    if not os.environ.get("REDIS_URL"):
        _start(Valkey(folder))
        os.environ["REDIS_URL"] = f"unix://{folder.run}/valkey.sock"
        ours.append("REDIS_URL")
    os.environ[OURS] = " ".join(ours)


def pytest_unconfigure(config: pytest.Config) -> None:
    stop()


def stop() -> None:
    for process in reversed(_started):
        process.send_signal(signal.SIGINT)
        process.wait(30)
    shutil.rmtree(_folder, ignore_errors=True)


_services()
