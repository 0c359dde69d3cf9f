"""Observatory on two machines: what each runs, behind nginx, with pgbouncer and Redis behind Sentinels."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.embedded.postgres import DATABASE, USER, Postgres
from tests.browser.observatory import ROOT, SERVICES
from tests.collect.dask_processes import free_port
from tests.support import services
from tests.support.debian_servers import Process
from tests.support.first_start import copy_migrated, static_root
from tests.support.nginx import in_front
from tests.support.pooler import pooler
from tests.support.sentinels import Sentinels, sentinels

MACHINES = ("one", "two")
WEB = ("-m", "uvicorn", "observatory.config.asgi:application", "--no-access-log", "--no-proxy-headers")
APART = ("--without-gossip", "--without-mingle", "--without-heartbeat")
CELERY = ("-m", "celery", "--app", "observatory.config.celery", "--quiet", "worker", "--pool", "threads")
PROXY = """location / {
    proxy_pass http://web;
    proxy_http_version 1.1;
    proxy_set_header Host $host:$server_port;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection "upgrade";
    proxy_set_header X-Forwarded-For $remote_addr;
    client_max_body_size 64m;
}"""


class Machines:
    """Both machines with all of their processes. PostgreSQL, the pooler, Redis and nginx are elsewhere."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.redis: Sentinels = stack.enter_context(sentinels(_made(folder / "redis")))
        self.database = Database(folder / "data")
        stack.callback(self.database.stop)
        self.pooler, database_url = stack.enter_context(pooler(folder, self.database.parameters))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in SERVICES},
            **self.redis.environment,
            "DATABASE_URL": database_url,
            "DATABASE_SESSION_URL": f"postgresql://{USER}@/{DATABASE}?host={self.database.folder.run}",
            "OBSERVATORY_SECRET_KEY": "the same on all machines, and at least fifty characters",
            "OBSERVATORY_PUBLIC_URL": self.url,
            "OBSERVATORY_TRUSTED_PROXIES": "127.0.0.1",
            "OBSERVATORY_STATIC_ROOT": static_root(),
        }
        ports = [free_port() for _ in MACHINES]
        servers = " ".join(f"server 127.0.0.1:{port} max_fails=1 fail_timeout=1;" for port in ports)
        upstream = f"upstream web {{ {servers} }}"
        stack.enter_context(in_front(_made(folder / "nginx"), self.port, PROXY, upstream))
        self.processes: dict[str, Process] = {}
        for machine, port in zip(MACHINES, ports, strict=True):
            self._add_machine(machine, port)
        self._add("one", "beat", "-m", "celery", "--app", "observatory.config.celery_beat", "--quiet", "beat")

    def start(self) -> None:
        for process in self.processes.values():
            process.start()
        self.wait_until_ready()

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + 300
        while not self._is_ready():
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.5)

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        environment = {**self.environment, "OBSERVATORY_DATA_DIR": str(self.folder / "one")}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def logs(self) -> str:
        return "\n".join(process.tail() for process in self.processes.values())

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=10) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _add_machine(self, machine: str, port: int) -> None:
        _made(self.folder / machine)
        self._add(machine, "web", *WEB, "--port", str(port))
        self._add(machine, "collector", "manage.py", "collect")
        self._add(machine, "worker", *CELERY, *APART, "--concurrency", "2", "--hostname", f"celery@{machine}")
        alerts = ("--queues", "alerts", "--hostname", f"alerts@{machine}")
        self._add(machine, "alerts", *CELERY, *APART, "--concurrency", "2", *alerts)

    def _add(self, machine: str, name: str, *command: str) -> None:
        folder = self.folder / machine
        environment = {**self.environment, "OBSERVATORY_DATA_DIR": str(folder)}
        if name == "beat":
            command = (*command, "--schedule", str(folder / "schedule"), "--pidfile", "")
        self.processes[f"{name} {machine}"] = Process(
            [sys.executable, *command], folder / f"{name}.log", cwd=ROOT, env=environment
        )


class Database:
    """A migrated PostgreSQL, which can be killed."""

    def __init__(self, path: Path) -> None:
        copy_migrated(path)
        self.folder = DataFolder(path, service_account())
        self._postgres = Postgres(self.folder)
        self._process = services.launch(self._postgres)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"host": str(self.folder.run), "user": USER, "dbname": DATABASE}

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(**self.parameters) as connection:
            return connection.execute(statement.encode()).fetchall()

    def restart(self) -> None:
        """Kills it with its sessions, and starts it again."""
        self._process.kill()
        self._process.wait()
        self._process = services.launch(self._postgres)

    def stop(self) -> None:
        services.end(self._process)


@contextmanager
def two_machines(folder: Path) -> Iterator[Machines]:
    with ExitStack() as stack:
        machines = Machines(folder, stack)
        try:
            machines.start()
            yield machines
        finally:
            machines.stop()


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
