"""A database that is lost: its runs are adopted from the archive's folder alone, and answers are the same.

A real run is multiplied to TASKS tasks, stored in a new Observatory and archived. Another new Observatory
adopts it. Prints one JSON line; the exit code is 1 if answers differ.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.reading_archive.served_run import ServedRun, served_run, signed_in  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402

TASKS = int(os.environ.get("TASKS", "20000"))
PATHS = ("lanes", "logs", "log-counts", "search?q=sum", "outliers")
"""of the API, whose answers are compared"""


def answers(server: Observatory, state: Any, cluster: int) -> dict[str, bytes]:
    """What the API says of a cluster, by path."""
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in state["cookies"])
    return {path: answer(server, cookie, f"/api/v1/clusters/{cluster}/{path}") for path in PATHS}


def answer(server: Observatory, cookie: str, path: str) -> bytes:
    while True:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)) as connection:
            connection.request("GET", path, headers={"Cookie": cookie})
            response = connection.getresponse()
            text = response.read()
        if response.status != 503:  # it is being fetched
            assert response.status == 200, (path, response.status, text[:300])
            return text
        time.sleep(1)


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, numbers but for the order in which they were added up."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


def measure(run: ServedRun) -> dict[str, Any]:
    from benchmarks.reading_archive.leaving import leave_tables

    leave_tables(run.cluster, is_read_elsewhere=True)
    before = answers(run.server, run.state, run.cluster)
    run.server.stop()
    again = Observatory(run.server.data_dir.parent / "again")
    again.environment["OBSERVATORY_ARCHIVE"] = run.server.environment["OBSERVATORY_ARCHIVE"]
    try:
        again.start()
        began = time.perf_counter()
        again.manage("archive", "adopt", "default")
        seconds = time.perf_counter() - began
        after = answers(again, signed_in(run.browser, again), run.cluster)
    finally:
        again.stop()
    others = [path for path in before if not is_same(json.loads(before[path]), json.loads(after[path]))]
    return {"adopt_s": seconds, "same_answers": 1 - len(others) / len(before), "others": others}


def main() -> int:
    with served_run(TASKS) as run:
        measured = measure(run)
    result = Result(
        "answers of a cluster that are the same after adoption", "before", measured["same_answers"], 1.0, True
    )
    return print_results("archive_adoption", [result], ["playwright", "pyarrow"], **measured)


if __name__ == "__main__":
    sys.exit(main())
