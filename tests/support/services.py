"""PostgreSQL and Valkey for tests and benchmarks: embedded ones, unless the environment names others."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.embedded.postgres import Postgres
from observatory.runtime.embedded.valkey import Valkey
from observatory.runtime.supervision.subprocesses import die_with_parent

OURS = "OBSERVATORY_TESTS_STARTED"
"""tells the processes of pytest-xdist which variables the first process set"""
NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
SMALL = {"shared_buffers": "128MB", "max_connections": "300"}
"""TRUNCATE and DROP search all of the shared buffers"""

_started: list[subprocess.Popen[bytes]] = []
_folder = Path(tempfile.mkdtemp(prefix="observatory-tests-"))
SHARED = Path(os.environ.setdefault("OBSERVATORY_TESTS_SHARED", str(_folder)))
"""the first process' folder, for what the processes of a session share"""


def start(**postgres_settings: str) -> None:
    """Starts what the environment doesn't name. Call it before Django's settings are read.

    The processes of pytest-xdist share the first one's PostgreSQL, where each has a database, and have a
    Valkey each, whose keys would collide.
    """
    ours = set(os.environ.get(OURS, "").split())
    if "REDIS_URL" in ours:
        del os.environ["REDIS_URL"]
    os.environ["OBSERVATORY_DATA_DIR"] = str(_folder / "data")
    os.environ["OBSERVATORY_LOCAL_CHANNELS"] = "1"  # receivers of notifications run on this machine
    if "OBSERVATORY_TEST_DATABASE_URL" in os.environ:
        os.environ["DATABASE_URL"] = os.environ["OBSERVATORY_TEST_DATABASE_URL"]
    folder = DataFolder(_folder / "data", service_account())
    folder.prepare()
    if not os.environ.get("DATABASE_URL"):
        _started.append(launch(Postgres(folder), *options(postgres_settings)))
        os.environ["DATABASE_URL"] = f"postgresql://observatory@/observatory?host={folder.run}"
        ours.add("DATABASE_URL")
    if not os.environ.get("REDIS_URL"):
        _started.append(launch(Valkey(folder)))
        os.environ["REDIS_URL"] = f"unix://{folder.run}/valkey.sock"
        ours.add("REDIS_URL")
    os.environ[OURS] = " ".join(ours)


def is_ours(variable: str) -> bool:
    """Whether the variable of the environment names a service that the tests started."""
    return variable in os.environ.get(OURS, "").split()


def options(settings: Mapping[str, str]) -> list[str]:
    """PostgreSQL's settings as arguments of its command line."""
    return [f"-c{name}={value}" for name, value in settings.items()]


def stop() -> None:
    for process in reversed(_started):
        end(process)
    shutil.rmtree(_folder, ignore_errors=True)


def launch(service: Postgres | Valkey, *options: str) -> subprocess.Popen[bytes]:
    """Starts a service and waits until it answers."""
    service.prepare()
    with (_folder / "services.log").open("ab") as log:
        process = subprocess.Popen(
            [*service.command(), *options],
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for the tests, which stop the services themselves
            preexec_fn=die_with_parent(),
            **service.options(),
        )
    deadline = time.monotonic() + 180
    while not service.is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError((_folder / "services.log").read_text()[-2000:])
        time.sleep(0.05)
    return process


def end(service: subprocess.Popen[bytes]) -> None:
    """Stops a service as `up` does: PostgreSQL's files are complete then."""
    service.send_signal(signal.SIGINT)
    service.wait(180)
