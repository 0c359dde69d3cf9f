"""What an installation costs that recorded something and is at rest: `up` with its embedded services.

It recorded a cluster that is gone, whose target is still enabled; then also ENDED clusters that ended within
four weeks. Measures over DURATION seconds the CPU time of all its processes (/proc/PID/stat, so other work of
the machine doesn't count), and their memory: PSS, in which a page that processes share counts once. RSS, in
which it counts in each of them, is given beside it. Prints one JSON line; the exit code is 1 if a limit was
missed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
from distributed import Client, LocalCluster

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402

DURATION = float(os.environ.get("DURATION", "180"))
SETTLING = float(os.environ.get("SETTLING", "90"))
"""seconds until static files are compressed and the first round of all tasks is over"""
LONGEST_SETTLING, LOOK, AT_REST = 1200.0, 30.0, 0.01
"""at most so many seconds until the worker uses less of a core than AT_REST in LOOK seconds"""
ENDED = int(os.environ.get("ENDED", "1000"))
CPU_LIMIT, MEMORY_LIMIT = 0.02, 450
PROGRAMS = {
    "web": "observatory web",
    "static files": "collectstatic",
    "collector": "observatory collector",
    "alerts": "observatory alerts",
    "worker": "observatory worker",
    "valkey": "valkey",
    "PostgreSQL": "postgres",
}
"""by part of their command lines, which are looked for in this order"""


def program(process: psutil.Process) -> str:
    line = " ".join(process.cmdline())
    return next((name for name, part in PROGRAMS.items() if part in line), "up")


def memory_by_program(up: psutil.Process) -> tuple[dict[str, float], float]:
    """Return the PSS of each program, and the sum of the RSS of all processes, in MiB."""
    shares: dict[str, float] = {}
    resident = 0.0
    for process in (up, *up.children(recursive=True)):
        with suppress(psutil.NoSuchProcess, OSError):  # a session of PostgreSQL that has ended
            name = program(process)
            shares[name] = shares.get(name, 0.0) + _kilobytes(process, "Pss") / 1024
            resident += _kilobytes(process, "Rss") / 1024
    return shares, resident


def _kilobytes(process: psutil.Process, field: str) -> int:
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB", rollup, re.MULTILINE)
    return int(found.group(1)) if found else 0


def cpu_by_program(up: psutil.Process) -> dict[str, float]:
    """Return the CPU seconds of each program so far, with those of its processes that ended."""
    spent: dict[str, float] = {}
    for process in (up, *up.children(recursive=True)):
        try:
            name, times = program(process), process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        own = times.user + times.system
        if process != up:  # of `up`, they are those of programs that are counted themselves
            own += times.children_user + times.children_system
        spent[name] = spent.get(name, 0.0) + own
    return spent


def cores(up: psutil.Process, seconds: float) -> dict[str, float]:
    """Return the cores that each program used in the next seconds."""
    began, before = time.monotonic(), cpu_by_program(up)
    time.sleep(seconds)
    elapsed, after = time.monotonic() - began, cpu_by_program(up)
    return {name: round((after[name] - before.get(name, 0.0)) / elapsed, 4) for name in after}


def settle(up: psutil.Process) -> None:
    """Wait until what was recorded is searched for runs, built, counted and evaluated."""
    time.sleep(SETTLING)
    until = time.monotonic() + LONGEST_SETTLING
    while cores(up, LOOK)["worker"] > AT_REST and time.monotonic() < until:
        pass


def measure(up: psutil.Process, what: str) -> tuple[list[Result], dict[str, object]]:
    settle(up)
    spent = cores(up, DURATION)
    memory, resident = memory_by_program(up)
    results = [
        Result(f"{what}: CPU time", "1 core", round(sum(spent.values()), 4), CPU_LIMIT),
        Result(f"{what}: memory (MiB, PSS)", "limit", round(sum(memory.values())), MEMORY_LIMIT),
        Result(f"{what}: memory (MiB, RSS of each process)", "–", round(resident)),
    ]
    return results, {"cores": spent, "memory": {name: round(size) for name, size in memory.items()}}


def record(server: Observatory) -> None:
    """Record a cluster of two workers that computes, then ends. Its target stays."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        server.watch(f"http://127.0.0.1:{cluster.scheduler.http_server.port}", "recorded")
        for _ in range(3):
            client.gather(client.map(lambda x: time.sleep(0.05), range(300), pure=False))
            time.sleep(5)


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    server = Observatory(folder / "data")
    try:
        server.start()
        up = psutil.Process(server.child("observatory web").ppid())
        record(server)
        results, details = measure(up, "an installation at rest that recorded a cluster")
        command = [sys.executable, "-m", "benchmarks.simulated.ended_clusters", str(ENDED)]
        subprocess.run(command, cwd=ROOT, env=server.environment, check=True)
        more, of_many = measure(up, f"an installation at rest with {ENDED:,} ended clusters")
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return print_results(
        "idle",
        [*results, *more],
        ("uvicorn", "celery", "psycopg"),
        seconds=round(DURATION),
        recorded=details,
        ended=of_many,
    )


if __name__ == "__main__":
    sys.exit(main())
