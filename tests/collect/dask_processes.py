"""Real Dask schedulers and workers in their own processes.

They are forked from one that has imported what they need, which takes each a second of processor time.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import time
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

import dask
import distributed.utils
import pytest
from distributed import Client, LocalCluster, wait

QUIET = {"DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}
LOG_LEVEL = "LOG_LEVEL_OF_SCHEDULER"
"""Name of a Scheduler's `config` for the level of what its page of logs has."""
PROGRAMS = {"scheduler": "distributed.cli.dask_scheduler", "worker": "distributed.cli.dask_worker"}
DASHBOARDS = ["distributed.dashboard.scheduler", "distributed.dashboard.worker"]
RESULT_SIZE = 20_000_000
"""bytes"""
FORKING = multiprocessing.get_context("forkserver")
PRELOADED = [__name__, *PROGRAMS.values(), *DASHBOARDS, "numpy", "pandas"]


@pytest.fixture(scope="session", autouse=True)
def _forked_workers() -> Iterator[None]:
    """Nannies of this process fork their workers, too."""
    FORKING.set_forkserver_preload(PRELOADED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed.utils, "_forkserver_preload_set", True)  # Dask would set its list
        with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
            yield


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Program(FORKING.Process):  # type: ignore[name-defined,misc]
    """`dask scheduler` or `dask worker` with arguments, in a session of its own."""

    def __init__(
        self, kind: str, arguments: list[str], environment: dict[str, str], log: Path | None
    ) -> None:
        super().__init__()
        self.kind, self.arguments, self.environment, self.log = kind, arguments, environment, log

    def run(self) -> None:
        os.setsid()
        os.environ.update(self.environment)
        if self.log:
            os.dup2(os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), 2)
        warnings.simplefilter("ignore")
        dask.config.refresh()
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        if self.kind == "scheduler":
            # its page of logs has what it has by default, and stderr is as quiet as that of the others
            own = logging.getLogger("distributed.scheduler")
            own.setLevel(self.environment.get(LOG_LEVEL, "INFO"))
            own.propagate = False
        import_module(PROGRAMS[self.kind]).main(self.arguments)

    def send_signal(self, number: int) -> None:
        assert self.pid is not None
        os.kill(self.pid, number)


@dataclass
class Scheduler:
    """A scheduler and its workers. `url`: address of its dashboard."""

    port: int = field(default_factory=free_port)
    http_port: int = field(default_factory=free_port)
    config: dict[str, str] = field(default_factory=dict)
    prefix: str = ""
    """Its --dashboard-prefix, with a slash before it."""
    log: Path | None = None
    """Where stderr is written; None: with that of the tests."""
    workers: list[Program] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}{self.prefix}"

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        arguments = ["--host", "127.0.0.1", "--port", str(self.port)]
        arguments += ["--dashboard-address", f"127.0.0.1:{self.http_port}"]
        arguments += ["--dashboard-prefix", self.prefix] if self.prefix else []
        self.process = self._run("scheduler", *arguments)
        deadline = time.monotonic() + 180
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=2).close()
                return
            except OSError:
                assert time.monotonic() < deadline, "the scheduler didn't start"
                time.sleep(0.1)

    def start_worker(self, name: str, threads: int = 2, *arguments: str) -> Program:
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

    def _run(self, kind: str, *arguments: str) -> Program:
        program = Program(kind, [*arguments], {**QUIET, **self.config}, self.log)
        program.start()
        return program

    def kill(self) -> None:
        """kill -9 of the scheduler, as when its machine goes away."""
        self.process.kill()
        self.process.join()

    def stop(self) -> None:
        for process in (*self.workers, self.process):
            if process.is_alive():
                with suppress(ProcessLookupError):  # it has no session yet
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
            process.join()


@contextmanager
def scheduler(
    workers: int = 0, threads: int = 2, log: Path | None = None, prefix: str = "", **config: str
) -> Iterator[Scheduler]:
    running = Scheduler(config=config, log=log, prefix=prefix)
    try:
        if workers:
            running.start_workers(workers, threads)
        yield running
    finally:
        running.stop()


@contextmanager
def one_process(protocol: str, workers: int = 3) -> Iterator[str]:
    """The dashboard of a LocalCluster(processes=False) with a result of 20 MB on each worker."""
    ours, theirs = FORKING.Pipe()
    port = free_port()
    process = FORKING.Process(target=_one_process, args=(theirs, protocol, workers, port))
    process.start()
    try:
        assert ours.poll(180), "the cluster didn't start"
        ours.recv()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.join()


def _one_process(parent: Connection, protocol: str, workers: int, port: int) -> None:
    os.environ.update(QUIET)
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=False,
            protocol=protocol,
            memory_limit="1GB",
            dashboard_address=f"127.0.0.1:{port}",
        ) as cluster,
        Client(cluster) as client,
    ):
        results = [
            client.submit(bytes, RESULT_SIZE, workers=[worker], pure=False)
            for worker in client.scheduler_info(n_workers=-1)["workers"]
        ]
        wait(results)
        parent.send("started")
        while True:
            time.sleep(60)
