"""What clusters with agents cost: the requests, transactions and CPU time of all programs.

What the agent of a real cluster of four workers reports is recorded, then reported by as many agents as
AGENTS says: 50/0,300/1 are 50 of clusters without tasks, and 300 that run a task a second each. Buffers,
encoders and senders are real, in one process, whose CPU time isn't counted. What Observatory uses at rest is
measured before, and subtracted. Prints one JSON line; the exit code is 1 if a limit was missed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measuring.processor import cpu_seconds
from benchmarks.measuring.results import Result, print_results
from benchmarks.simulated.agents import record_rows
from benchmarks.simulated.scraping import PROGRAMS, ROOT
from observatory.agent.delivery.pace import LONG_REST
from tests.browser.observatory import Observatory

AGENTS = os.environ.get("AGENTS", "50/0,300/1")
SECONDS = float(os.environ.get("DURATION", "60"))
RESTING, SETTLING = 60.0, 30.0
"""seconds until an Observatory that just started is at rest, and after it has come to know all agents, or
after these are at rest"""
LONGEST_BEGINNING = 300.0
"""seconds until all agents are known"""
KNOWN = "SELECT count(*) FROM clusters_cluster WHERE agent_heard > now() - interval '60 s'"
LIMIT_AT_REST = 0.3
DONE = """SELECT (SELECT sum(xact_commit) FROM pg_stat_database)::float8,
    (SELECT coalesce(sum(sequence), 0) FROM extent)::float8,
    (SELECT count(*) FROM sample)::float8"""


@contextmanager
def reporting(recording: Path, agents: int, server: Observatory, token: str) -> Iterator[None]:
    command = [sys.executable, "-m", "benchmarks.simulated.agents", str(recording), str(agents)]
    process = subprocess.Popen(
        [*command, server.url, token], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()


def wait_until_known(server: Observatory, agents: int) -> None:
    began = time.monotonic()
    while (known := server.query(KNOWN)) < agents and time.monotonic() - began < LONGEST_BEGINNING:
        time.sleep(1.0)
    print(f"{known} agents are known after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def measure(server: Observatory) -> dict[str, float]:
    """Cores of each program, and what was done a second."""
    programs = {name: server.child(title) for name, title in PROGRAMS.items()}
    began, before = time.monotonic(), {name: cpu_seconds(one) for name, one in programs.items()}
    [(transactions, batches, samples)] = server.rows(DONE)
    time.sleep(SECONDS)
    elapsed, after = time.monotonic() - began, {name: cpu_seconds(one) for name, one in programs.items()}
    [done] = server.rows(DONE)
    found = {name: (after[name] - before[name]) / elapsed for name in programs}
    for name, first, last in zip(
        ("transactions", "batches", "samples"), (transactions, batches, samples), done, strict=True
    ):
        found[name] = (last - first) / elapsed
    return found


def results(
    agents: int, tasks: int, measured: dict[str, float], at_rest: dict[str, float]
) -> Iterator[Result]:
    kind = f"that run {tasks} tasks a second each" if tasks else "at rest"
    what = f"{agents} clusters of 4 workers with agents, {kind}"
    yield Result(f"{what}: requests a second", "–", round(measured["batches"], 1))
    yield Result(f"{what}: transactions a second", "–", round(measured["transactions"], 1))
    for program in ("web", "postgresql"):
        yield Result(f"{what}: CPU time of {program}", "1 core", round(measured[program], 3))
    spent = sum(measured[name] - at_rest[name] for name in PROGRAMS)
    yield Result(
        f"{what}: CPU time of all programs per cluster (ms a second)",
        "–",
        round(1e3 * spent / agents, 2),
        None if tasks else LIMIT_AT_REST,
    )


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    server = Observatory(folder / "data")
    found: list[Result] = []
    try:
        server.start()
        token = server.manage("ingest_token", "default").strip()
        time.sleep(RESTING)
        at_rest = measure(server)
        for load in AGENTS.split(","):
            agents, tasks = map(int, load.split("/"))
            recording = folder / f"{tasks}.json"
            recording.write_text(json.dumps(record_rows(tasks)))
            with reporting(recording, agents, server, token):
                wait_until_known(server, agents)
                time.sleep(SETTLING if tasks else LONG_REST + SETTLING)
                measured = measure(server)
            print(load, json.dumps(measured), os.getloadavg(), file=sys.stderr, flush=True)
            found += results(agents, tasks, measured, at_rest)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return print_results("agents", found, ("psycopg", "uvicorn"), seconds=SECONDS)


if __name__ == "__main__":
    sys.exit(main())
