"""Scripts that never close their cluster: how many are recorded whole, and how long their run's end takes.

Each script registers the agent from its client, computes 20 tasks in a run, and ends: by itself, by an
exception, by SIGTERM, or by os._exit, after which `flush` sends what it left. SCRIPTS sets how many.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from tests.agent.fake_server import TOKEN, FakeServer  # noqa: E402
from tests.agent.faulty_server import FaultyServer, faulty_server  # noqa: E402
from tests.agent.unclosed_script import TASKS  # noqa: E402

SCRIPTS = int(os.environ.get("SCRIPTS", "50"))
SCRIPT = ROOT / "tests" / "agent" / "unclosed_script.py"
OUTCOMES = {"returns": "finished", "_exit": "finished", "exception": "erred", "waits-in-run": "erred"}
LIMIT = 20
"""milliseconds"""


def run(server: FaultyServer, spool: Path, name: str, end: str) -> float | None:
    """Run a script; returns the milliseconds that leaving its run took, if it says them."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), server.url, TOKEN, name, end],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DASK_OBSERVATORY__SPOOL_DIRECTORY": str(spool)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    if end == "waits-in-run":
        process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate(timeout=300)
    return float(printed.split()[1]) if printed.startswith("returned") else None


def flush(server: FaultyServer, spool: Path) -> None:
    command = [sys.executable, "-m", "observatory.agent", "flush", "--url", server.url, "--token", TOKEN]
    subprocess.run([*command, "--spool-directory", str(spool)], cwd=ROOT, check=True, timeout=300)


def whole(server: FaultyServer, ends: dict[str, str]) -> int:
    """Return how many scripts have their run, its outcome and all of its tasks."""
    received = {name: FakeServer("") for name in ends}
    for head, body in zip(server.received.heads, server.received.bodies, strict=True):
        received[head.name].take(body)
    return sum(is_whole(received[name].rows, OUTCOMES[end]) for name, end in ends.items())


def is_whole(rows: dict[str, list[dict[str, Any]]], outcome: str) -> bool:
    computed = {row["key"] for row in rows["transition"] if row["finish"] == "memory"}
    return len(computed) == TASKS and [row["outcome"] for row in rows["run"]] == ["running", outcome]


def main() -> int:
    ends = {f"script {number}": list(OUTCOMES)[number % len(OUTCOMES)] for number in range(SCRIPTS)}
    taken = []
    with faulty_server() as server, tempfile.TemporaryDirectory() as spool:
        for name, end in ends.items():
            milliseconds = run(server, Path(spool), name, end)
            if milliseconds is not None:
                taken.append(milliseconds)
        flush(server, Path(spool))
        recorded = whole(server, ends)
    return print_results(
        "unclosed_scripts",
        [
            Result(
                "scripts that don't close their cluster and are recorded whole",
                "all of them",
                round(recorded / SCRIPTS, 3),
                1,
                at_least=True,
            ),
            Result(
                "time to leave a run, whose end is on disk then (ms, median)",
                "the limit",
                round(statistics.median(taken), 1),
                LIMIT,
            ),
            Result(
                "time to leave a run, whose end is on disk then (ms, 90 %)",
                "the limit",
                round(statistics.quantiles(taken, n=10)[-1], 1),
                None,
            ),
        ],
        ("dask", "distributed"),
        scripts=SCRIPTS,
        milliseconds=sorted(taken),
    )


if __name__ == "__main__":
    sys.exit(main())
