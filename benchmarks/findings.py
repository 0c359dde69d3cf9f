"""Time to find the causes of lost time in a run, with their costs, as Celery does once it has ended.

A real run is recorded, stored, and copied within the database. Prints one JSON line; the exit code is 1 if a
limit was missed. TASKS sets the size.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.django_setup import set_up  # noqa: E402

set_up()

from benchmarks.critical_path import store, taken  # noqa: E402
from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from observatory.replay.scope import Scope  # noqa: E402
from observatory.store.connection import build_connection  # noqa: E402
from observatory.store.times import MAXIMUM_TIME  # noqa: E402
from observatory.why.findings.answer import findings  # noqa: E402
from observatory.why.kept import MOST_SPANS  # noqa: E402

DATABASE = "observatory_findings"
TASKS = int(os.environ.get("TASKS", "100000"))
ROUNDS = 3
SMALL, OF_SMALL, OF_LARGE = 100_000, 2.0, 15.0
"""tasks, and the seconds that up to so many and more may take"""


def measure() -> dict[str, Any]:
    cluster, stored = store(TASKS)
    seconds: list[float] = []
    processor: list[float] = []
    with build_connection() as connection:
        for _ in range(ROUNDS):
            spent = time.process_time()
            seconds.append(taken(lambda: findings(connection, Scope(cluster), 0, MAXIMUM_TIME, MOST_SPANS)))
            processor.append(time.process_time() - spent)
    return {**stored, "seconds": round(min(seconds), 2), "processor_seconds": round(min(processor), 2)}


def main() -> int:
    logging.disable(logging.WARNING)
    with own_database(DATABASE):
        measured = measure()
    limit = OF_SMALL if TASKS <= SMALL else OF_LARGE
    results = [Result(f"seconds: findings of {TASKS:,} tasks", "the limit", measured["seconds"], limit)]
    return print_results("findings", results, ["dask", "distributed", "numpy", "psycopg"], **measured)


if __name__ == "__main__":
    sys.exit(main())
