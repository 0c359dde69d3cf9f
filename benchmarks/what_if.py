"""How well the time of a run on other workers is predicted, beside work ÷ threads.

Six workloads run on a LocalCluster with an agent, on WORKERS workers and on each of OTHERS. From the
recording of the first run the others are predicted. The error is that of the predicted time, as a share of
the time that the run really took. Prints a table to standard error and one JSON line; the exit code is 1 if
a limit was missed.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import observatory.agent  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.measuring.server import evaluated, new_observatory  # noqa: E402
from benchmarks.predicting.workloads import WORKLOADS  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402

WORKERS, THREADS = 2, 2
OTHERS = (1, 4)
MEDIAN, WORST = 0.10, 0.25
PREDICT = """
import json
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.what_if.answer import prediction
from observatory.why.what_if.change import Change
runs = {{run.name: run for run in Run.objects.all()}}
found = {{}}
for name in {names}:
    run = runs[f"{{name}} on {workers}"]
    start, stop = (round(time.timestamp() * 1e6) for time in (run.start, run.stop))
    for count in {others}:
        with read_connection() as connection:
            found[f"{{name}} on {{count}}"] = prediction(
                connection, Scope(run.cluster, start=start, stop=stop), 0, MAXIMUM_TIME, Change(workers=count)
            )
print(json.dumps(found))
"""


def record(server: Observatory, token: str, workers: int) -> dict[str, float]:
    """Run all workloads; returns the seconds that each took."""
    took = {}
    options: dict[str, Any] = {"n_workers": workers, "threads_per_worker": THREADS}
    with (
        LocalCluster(**options, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL") as cluster,
        Client(cluster) as client,
    ):
        name = f"{workers} workers"
        observatory.agent.register(client, url=server.url, token=token, name=name, flush_interval="1s")
        client.gather(client.map(abs, range(100)))
        for name, workload in WORKLOADS.items():
            time.sleep(1)
            with observatory.run(f"{name} on {workers}"):
                start = time.monotonic()
                workload(client)
                took[f"{name} on {workers}"] = time.monotonic() - start
        time.sleep(3)
    return took


def main() -> int:
    took: dict[str, float] = {}
    with new_observatory() as (server, token):
        with dask.config.set({"distributed.scheduler.worker-ttl": None}):
            for workers in (WORKERS, *OTHERS):
                took |= record(server, token, workers)
        script = PREDICT.format(names=list(WORKLOADS), workers=WORKERS, others=list(OTHERS))
        predicted = json.loads(evaluated(server, script))
    rows = [_row(name, took, one) for name, one in predicted.items()]
    _print(rows)
    return _report(rows)


def _row(name: str, took: dict[str, float], predicted: dict[str, Any]) -> dict[str, Any]:
    recorded = took[f"{name.split(' on ')[0]} on {WORKERS}"]
    real = took[name]
    return {
        "name": name,
        "recorded": recorded,
        "real": real,
        "predicted": predicted["seconds"],
        "naive": predicted["naive"],
        "error": abs(predicted["seconds"] / real - 1),
        "naive_error": abs(predicted["naive"] / real - 1),
        "doubts": predicted["doubts"],
    }


def _print(rows: list[dict[str, Any]]) -> None:
    print(f"{'run':24} recorded    real predicted  error   naive  error", file=sys.stderr)
    for row in rows:
        print(
            f"{row['name']:24} {row['recorded']:8.2f}{row['real']:8.2f} "
            f"{row['predicted']:9.2f} {row['error']:6.1%} "
            f"{row['naive']:7.2f} {row['naive_error']:6.1%} {' '.join(row['doubts'])}",
            file=sys.stderr,
        )


def _report(rows: list[dict[str, Any]]) -> int:
    errors, naive = ([row[name] for row in rows] for name in ("error", "naive_error"))
    against = f"the real time of {len(rows)} runs on other workers"
    results = [
        Result("error of the predicted time, median", against, round(statistics.median(errors), 3), MEDIAN),
        Result("error of the predicted time, worst", against, round(max(errors), 3), WORST),
        Result("error of work ÷ threads, median", against, round(statistics.median(naive), 3)),
        Result("error of work ÷ threads, worst", against, round(max(naive), 3)),
    ]
    return print_results("what_if", results, ("distributed",), runs=rows)


if __name__ == "__main__":
    sys.exit(main())
