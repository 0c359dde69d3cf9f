"""What evaluates rules and tells of alerts, as processes of their own: Valkey, Celery's beat and a worker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.embedded.valkey import Valkey
from observatory.runtime.supervision.subprocesses import die_with_parent
from tests.runtime.machine import eventually

ROOT = Path(__file__).resolve().parents[3]
CELERY = [sys.executable, "-m", "celery", "--quiet", "--app"]
WORKER = [*CELERY, "observatory.config.celery", "worker"]
BEAT = [*CELERY, "observatory.config.celery_beat", "beat"]


class Pipeline:
    """Over the database that Django is connected to, and a Valkey of its own."""

    def __init__(self, folder: DataFolder) -> None:
        self.folder = folder
        self.valkey_server = Valkey(folder)
        self.log = folder.path / "pipeline.log"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        self.start_valkey()
        self.start_worker()
        self.start_beat()

    def start_valkey(self) -> None:
        self.valkey_server.prepare()
        command, options = self.valkey_server.command(), self.valkey_server.options()
        self._start("valkey", command, **options)
        eventually(self.valkey_server.is_ready, "Valkey answers")

    def start_worker(self) -> None:
        """As `up` starts the one for alerts."""
        command = [*WORKER, "--queues", "alerts", "--pool", "threads", "--concurrency", "6"]
        self._start("worker", command, cwd=ROOT)

    def start_beat(self) -> None:
        schedule = str(self.folder.path / "beat-schedule")
        self._start("beat", [*BEAT, "--schedule", schedule, "--pidfile", ""], cwd=ROOT)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)

    def lives(self, name: str) -> bool:
        return name in self.processes and self.processes[name].poll() is None

    def _start(self, name: str, command: list[str], **options: object) -> None:
        address = urlsplit(os.environ["DATABASE_URL"])
        environment = {
            **os.environ,
            "DATABASE_URL": address._replace(path=f"/{connection.settings_dict['NAME']}").geturl(),
            "REDIS_URL": f"unix://{self.folder.run}/valkey.sock",
            "OBSERVATORY_DATA_DIR": str(self.folder.path),
            "OBSERVATORY_SECRET_KEY": settings.SECRET_KEY,
        }
        with self.log.open("ab") as log:
            self.processes[name] = subprocess.Popen(  # type: ignore[call-overload]
                command,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent(),
                **options,
            )


@contextmanager
def pipeline() -> Iterator[Pipeline]:
    path = Path(tempfile.mkdtemp(prefix="observatory-pipeline-"))
    folder = DataFolder(path / "data", service_account())
    folder.prepare()
    started = Pipeline(folder)
    try:
        yield started
    finally:
        started.stop()
        shutil.rmtree(path, ignore_errors=True)
