"""Real Dask schedulers and workers in their own processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from distributed import Client

QUIET = {**os.environ, "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical", "PYTHONWARNINGS": "ignore"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Scheduler:
    """A scheduler and its workers. `url`: address of its dashboard."""

    port: int = field(default_factory=free_port)
    http_port: int = field(default_factory=free_port)
    config: dict[str, str] = field(default_factory=dict)
    log: Path | None = None
    """Where stderr is written; None: with that of the tests."""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        arguments = ["--host", "127.0.0.1", "--port", str(self.port)]
        arguments += ["--dashboard-address", f"127.0.0.1:{self.http_port}"]
        self.process = self._run("scheduler", *arguments)
        deadline = time.monotonic() + 180
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=2).close()
                return
            except OSError:
                assert time.monotonic() < deadline, "the scheduler didn't start"
                time.sleep(0.1)

    def start_worker(self, name: str, threads: int = 2, *arguments: str) -> subprocess.Popen[bytes]:
        command = [self.address, "--name", name, "--nthreads", str(threads), "--host", "127.0.0.1"]
        process = self._run("worker", *command, "--dashboard-address", "127.0.0.1:0", *arguments)
        self.workers.append(process)
        return process

    def start_workers(self, count: int, threads: int = 2) -> None:
        for number in range(count):
            self.start_worker(f"w{number}", threads, "--no-nanny")
        with self.client() as client:
            client.wait_for_workers(count, timeout=180)

    def client(self) -> Client:
        return Client(self.address, timeout=120, set_as_default=False)

    def _run(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", kind, *arguments]
        with open(self.log, "ab") if self.log else nullcontext() as log:
            return subprocess.Popen(command, env={**QUIET, **self.config}, start_new_session=True, stderr=log)

    def kill(self) -> None:
        """kill -9 of the scheduler, as when its machine goes away."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        for process in (*self.workers, self.process):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGCONT)
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def scheduler(
    workers: int = 0, threads: int = 2, log: Path | None = None, **config: str
) -> Iterator[Scheduler]:
    running = Scheduler(config=config, log=log)
    try:
        if workers:
            running.start_workers(workers, threads)
        yield running
    finally:
        running.stop()
