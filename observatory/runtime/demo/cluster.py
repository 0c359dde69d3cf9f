"""The demo's scheduler and workers: Dask's own programs on loopback, with little memory."""

from __future__ import annotations

import os
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from distributed import Client

from observatory.runtime.supervision.program import Program, stop_together
from observatory.runtime.supervision.subprocesses import python

WORKERS, THREADS = 3, 2
MEMORY_LIMIT = "600MB"
HTTP_PORT = 8787
CONFIGURATION = {
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED": "true",
    # two workers in a row die with a task until it fails with a KilledWorker
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "DASK_DISTRIBUTED__WORKER__DAEMON": "true",
    "OMP_NUM_THREADS": "1",
}


class DemoCluster:
    """A cluster that runs inside a `with` block. Its workers spill to `scratch`."""

    def __init__(self, scratch: Path, agent: Mapping[str, str] | None = None) -> None:
        """`agent`: the agent's settings as environment variables; None: no agent."""
        port = _free_port()
        http_port = HTTP_PORT if _is_free(HTTP_PORT) else _free_port()
        self.address = f"tcp://127.0.0.1:{port}"
        self.http_address = f"http://127.0.0.1:{http_port}"
        scheduler = python("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port))
        worker = python("distributed.cli.dask_worker", self.address, "--host", "127.0.0.1")
        preload = ["--preload", "observatory.agent"] if agent else []
        command = [*scheduler, "--dashboard-address", f"127.0.0.1:{http_port}", *preload]
        self.programs = [Program("scheduler", command, self._answers)]
        for number in range(WORKERS):
            options = ["--nthreads", str(THREADS), "--memory-limit", MEMORY_LIMIT, "--name", f"demo-{number}"]
            folder = ["--local-directory", str(scratch)]
            self.programs.append(Program(f"demo-{number}", [*worker, *options, *folder], lambda: True))
        for program in self.programs:
            program.environment = CONFIGURATION
            program.stop_timeout = 5.0
        # the scheduler installs the agent on workers and nannies
        self.programs[0].environment = {**CONFIGURATION, **(agent or {})}

    def __enter__(self) -> Self:
        for program in self.programs:
            program.start()
            deadline = time.monotonic() + 60
            while not program.is_ready() and program.is_running and time.monotonic() < deadline:
                time.sleep(0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        scheduler, *workers = self.programs
        stop_together(workers)
        scheduler.stop()

    def client(self) -> Client:
        client = Client(self.address, timeout="60s")
        client.wait_for_workers(WORKERS, timeout=60)
        return client

    def restart_lost_workers(self, client: Client) -> None:
        """Restart the workers that the scheduler lost, which happens on a busy machine."""
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        present = {worker["name"] for worker in workers}
        for program in self.programs[1:]:
            if program.name not in present:
                program.stop()
                program.start()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.http_address}/health", timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            return False


def kill_one_worker(client: Client) -> None:
    """Kill a worker's process as the kernel does when memory is short; its nanny starts another."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    client.run(_die, workers=list(workers)[:1], on_error="ignore")  # it cannot answer


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
