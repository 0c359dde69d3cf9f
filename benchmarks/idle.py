"""What an installation costs that watches nothing: `up` with its embedded services and no clusters.

Measures over DURATION seconds the CPU time of all its processes, and their memory (PSS, so that pages which
processes share count once). Prints one JSON line; the exit code is 1 if a limit was missed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402

DURATION = float(os.environ.get("DURATION", "180"))
SETTLING = float(os.environ.get("SETTLING", "90"))
"""seconds until static files are compressed and the first round of all tasks is over"""
CPU_LIMIT, MEMORY_LIMIT = 0.02, 450
MEBIBYTE = 1 << 20
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


def pss(process: psutil.Process) -> int:
    """Return the bytes of a process; of a page that several share its part."""
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


def cpu_by_program(up: psutil.Process) -> dict[str, float]:
    """Return the CPU seconds of each program so far, with those of its processes that ended."""
    spent: dict[str, float] = {}
    for process in (up, *up.children(recursive=True)):
        times = process.cpu_times()
        own = times.user + times.system
        if process != up:  # of `up`, they are those of programs that are counted themselves
            own += times.children_user + times.children_system
        name = program(process)
        spent[name] = spent.get(name, 0.0) + own
    return spent


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    server = Observatory(folder / "data")
    try:
        server.start()
        up = psutil.Process(server.child("observatory web").ppid())
        time.sleep(SETTLING)
        began, before = time.monotonic(), cpu_by_program(up)
        time.sleep(DURATION)
        elapsed, after = time.monotonic() - began, cpu_by_program(up)
        memory: dict[str, float] = {}
        for process in (up, *up.children(recursive=True)):
            memory[program(process)] = memory.get(program(process), 0.0) + pss(process) / MEBIBYTE
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    cores = {name: round((after[name] - before.get(name, 0.0)) / elapsed, 4) for name in after}
    what = "an installation without clusters, all of its processes"
    results = [
        Result(f"{what}: CPU time", "1 core", round(sum(cores.values()), 4), CPU_LIMIT),
        Result(f"{what}: memory (MiB)", "limit", round(sum(memory.values())), MEMORY_LIMIT),
    ]
    return print_results(
        "idle",
        results,
        ("uvicorn", "celery", "psycopg"),
        seconds=round(elapsed),
        cores=cores,
        memory={name: round(size) for name, size in memory.items()},
    )


if __name__ == "__main__":
    sys.exit(main())
