"""Samples an Observatory: its processes, its services, and how long it takes to answer."""

from __future__ import annotations

import json
import re
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import redis

from observatory.base.environment import run_dir
from tests.browser.observatory import Observatory

PROGRAMS = {
    "web": r"observatory web",
    "collector": r"observatory collector",
    "alerts": r"observatory alerts",
    "worker": r"observatory worker",
    "PostgreSQL": r"bin/postgres",
    "Valkey": r"valkey-server",
}
"""patterns of command lines; the first that matches counts"""
SERVERS = {"PostgreSQL", "Valkey"}
PATHS = (
    "/clusters/",
    "/runs/",
    "/alerts/",
    "/api/v1/clusters/{cluster}",
    "/api/v1/clusters/{cluster}/state?at={at}",
)
PEER = "/account/password/"
"""a page without data of a cluster: it gets slower with the machine's other work, not with what is stored"""
COMPUTATION = list(range(50_000))
"""the peer of PEER: the time to write and read it as JSON"""
REPEATS = 5
"""requests of each path, in turn with the peers; the fastest counts, because the machine has other work"""
TIMEOUT = 60.0
"""seconds; stands for a request that failed"""
MIB = 1 << 20


class Sampler:
    """The values of one instant by name; the unit is part of the name."""

    def __init__(self, server: Observatory, up: psutil.Process, session: str, cluster: int) -> None:
        self.server = server
        self.up = up
        self.session = session
        self.cluster = cluster
        self.valkey = redis.Redis(unix_socket_path=f"{run_dir(Path(server.data_dir))}/valkey.sock")

    def sample(self) -> dict[str, float]:
        return dict((*self._processes(), *self._services(), *self._answers()))

    def _processes(self) -> Iterator[tuple[str, float]]:
        together = 0
        for process in [self.up, *self.up.children()]:
            name = "up" if process == self.up else _program(process)
            if name:
                members = [process, *process.children(recursive=True)] if name != "up" else [process]
                memory = [_anonymous(member) for member in members]
                shared_once = sum(part for _, part in memory)
                # what postgres' processes share is not copied at a write, unlike what a fork shares
                is_fork = name not in SERVERS
                counted = sum(whole for whole, _ in memory) if is_fork else shared_once
                yield f"memory of {name} (MiB)", counted / MIB
                yield f"open files of {name}", float(process.num_fds())
                together += shared_once if is_fork else 0
        yield "memory of all programs, shared once (MiB)", together / MIB

    def _services(self) -> Iterator[tuple[str, float]]:
        yield (
            "connections to PostgreSQL",
            float(str(self.server.query("SELECT count(*) FROM pg_stat_activity"))),
        )
        info = self.valkey.info()
        yield "connections to Valkey", float(info["connected_clients"])
        yield "keys in Valkey", float(self.valkey.dbsize())
        yield "data in Valkey (MiB)", info["used_memory"] / MIB

    def _answers(self) -> Iterator[tuple[str, float]]:
        times = [[_computation(), *map(self._milliseconds, (PEER, *PATHS))] for _ in range(REPEATS)]
        computation, peer, *answers = (min(of_one) for of_one in zip(*times, strict=True))
        yield f"answer of {PEER} (× a computation)", peer / computation
        for path, answer in zip(PATHS, answers, strict=True):
            yield f"answer of {path} (× {PEER})", answer / peer

    def _milliseconds(self, path: str) -> float:
        filled = path.format(cluster=self.cluster, at=f"{time.time() - 30:.3f}")
        request = urllib.request.Request(
            self.server.url + filled, headers={"Cookie": f"sessionid={self.session}"}
        )
        began = time.perf_counter()
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                answer.read()
        except OSError as error:  # hours of samples are worth more than one answer
            print(f"{filled}: {error}", file=sys.stderr)
            return TIMEOUT * 1000
        return (time.perf_counter() - began) * 1000


def _computation() -> float:
    """Milliseconds."""
    began = time.perf_counter()
    json.loads(json.dumps(COMPUTATION))
    return (time.perf_counter() - began) * 1000


def _program(process: psutil.Process) -> str:
    try:
        line = " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""
    return next((name for name, pattern in PROGRAMS.items() if re.search(pattern, line)), "")


def _anonymous(process: psutil.Process) -> tuple[int, int]:
    """Bytes of a process without pages of files and of shared buffers, and its part of those that it shares.

    A page that a fork shares counts for each process in the first number: that the process writes to it and
    so gets its own is no growth. In the second number it is, until no page is shared any more.
    """
    try:
        rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0
    found = dict(re.findall(r"^(Anonymous|Pss_Anon): +(\d+) kB", rollup, re.MULTILINE))
    return int(found["Anonymous"]) * 1024, int(found["Pss_Anon"]) * 1024
