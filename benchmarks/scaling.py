"""Up to which size one collector keeps its pace: clusters of more workers, and more clusters.

A real scheduler and worker are recorded, then simulated by another process on this machine: one cluster of
each number of SIZES, then as many clusters of 4 workers as each number of CLUSTERS. A complete Observatory
watches them; each worker is due every 5 s. Measures over DURATION seconds the CPU time of the collector and
PostgreSQL, and the share of due scrapes that are stored: it stays at 1 until something has no time left.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measuring.results import Result, print_results
from benchmarks.simulated.recording import record
from benchmarks.simulated.scraping import INTERVAL, measure, simulated
from tests.browser.observatory import Observatory

SIZES = [int(size) for size in os.environ.get("SIZES", "1000,2500,5000,10000").split(",") if size]
CLUSTERS = [int(number) for number in os.environ.get("CLUSTERS", "100,300,1000").split(",") if number]
SECONDS = float(os.environ.get("DURATION", "60"))
WORKERS, TASKS = 4, 1
"""of each of many clusters: workers, and tasks a second; a single cluster has 100 tasks a second"""
SETTLING = 40.0
"""seconds until a thousand workers are known and scraped"""


def results(what: str, measured: dict[str, Any]) -> Iterator[Result]:
    name = f"{what}, scraped every {INTERVAL:g} s"
    yield Result(f"{name}: scrapes stored", "due scrapes", measured["scraped"])
    yield Result(f"{name}: CPU time of the collector", "1 core", measured["cores"])
    yield Result(f"{name}: CPU time of PostgreSQL", "1 core", measured["postgresql_cores"])


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    recording = folder / "recording.json"
    recording.write_text(json.dumps(asdict(record())))
    server = Observatory(folder / "data")
    loads = [(f"a cluster of {size:,} workers", size, 1, 100) for size in SIZES]
    loads += [(f"{number:,} clusters of {WORKERS} workers", WORKERS, number, TASKS) for number in CLUSTERS]
    found = {}
    try:
        server.start()
        for what, workers, schedulers, tasks in loads:
            settling = SETTLING * max(1.0, workers * schedulers / 1000)
            with simulated(recording, workers, schedulers, "--tasks", str(tasks)) as urls:
                found[what] = measure(server, what, urls, workers, settling, SECONDS)
            print(what, json.dumps(found[what]), file=sys.stderr, flush=True)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    measured = [result for what, figures in found.items() for result in results(what, figures)]
    return print_results(
        "scaling", measured, ("aiohttp", "distributed", "psycopg"), seconds=SECONDS, measured=found
    )


if __name__ == "__main__":
    sys.exit(main())
