"""How often a check of a run is wrong: alarms without a change, and slowdowns of a fifth that are found.

Real runs of one workload are recorded on one cluster, one after the other, and each is checked against the
ten before it, as `dask-observatory check --against last:10` does. Between them are runs with one prefix, or
all of them, slower by a fifth, which are no history of the others. Their tasks wait, as those do that read
from a store. Prints one JSON line; the exit code is 1 if a limit was missed. RUNS sets how many runs without
a change are checked; WORK=compute lets the tasks compute instead: then the machine must do nothing else.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.django_setup import set_up  # noqa: E402

set_up()

from distributed import Client, LocalCluster, wait  # noqa: E402

import observatory.agent  # noqa: E402
from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.runs.recording import receiving  # noqa: E402
from observatory.client.check.table import table  # noqa: E402
from observatory.clusters.models import Cluster, Project  # noqa: E402
from observatory.collect.agents.batch import batch_of  # noqa: E402
from observatory.comparison.check.check import Limits, check  # noqa: E402
from observatory.runs.models import Run  # noqa: E402
from observatory.runs.refresh import refresh_figures  # noqa: E402
from observatory.store.connection import read_connection  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.times import from_seconds  # noqa: E402
from observatory.wire.batches import decode_batch  # noqa: E402

DATABASE = "observatory_check"
RUNS = int(os.environ.get("RUNS", "200"))
WORK = os.environ.get("WORK", "wait")
HISTORY = 10
SLOWED_EVERY = 3
SLOWER = 1.2
SECONDS = {"load": 0.024, "clean": 0.030, "join": 0.040, "store": 0.028}
"""of a task of each prefix"""
TASKS = 60
"""of each prefix in a run"""
APART = 0.02
"""seconds between two runs"""
CLUSTERS: dict[str, dict[str, Any]] = {
    "wait": {"n_workers": 2, "threads_per_worker": 8, "processes": False},
    "compute": {"n_workers": 2, "threads_per_worker": 1, "processes": True},
}


def wait_for(seconds: float, number: int) -> int:
    time.sleep(seconds)
    return number


def compute(turns: float, number: int) -> int:
    for turn in range(round(turns)):
        number ^= turn
    return number


@dataclass(frozen=True, slots=True)
class Recorded:
    start: float
    stop: float
    slowed: str
    """prefix, “all”, or "" for a run without a change"""


def turns_in_a_second() -> float:
    began = time.perf_counter()
    compute(2_000_000, 0)
    return 2_000_000 / (time.perf_counter() - began)


class Workload:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._number = 0
        self._task: Callable[[float, int], int] = wait_for if WORK == "wait" else compute
        self._amount = 1.0 if WORK == "wait" else turns_in_a_second() / 4

    def run(self, slowed: str = "") -> Recorded:
        self._number += 1
        start = time.time()
        futures = [
            self._client.submit(
                self._task,
                seconds * self._amount * (SLOWER if slowed in (prefix, "all") else 1),
                number,
                key=f"{prefix}-{self._number:08x}{number:08x}",
                pure=False,
            )
            for number in range(TASKS)
            for prefix, seconds in SECONDS.items()
        ]
        wait(futures)
        done = Recorded(start, time.time(), slowed)
        del futures
        time.sleep(APART)
        return done


def record() -> tuple[list[bytes], list[Recorded]]:
    """What the agent sent, and the runs."""
    runs = []
    cluster = LocalCluster(**CLUSTERS[WORK], silence_logs="CRITICAL", dashboard_address=None)
    with receiving() as (url, bodies), cluster, Client(cluster) as client:
        observatory.agent.register(client, url=url, token="benchmark")
        workload = Workload(client)
        workload.run()  # what is done the first time isn't compared
        for number in range(HISTORY + RUNS):
            runs.append(workload.run())
            if number >= HISTORY and number % SLOWED_EVERY == 0:
                runs.append(workload.run("all" if number % 2 else "join"))
        observatory.agent.unregister(client)
    return bodies, runs


def store(bodies: list[bytes], recorded: list[Recorded]) -> list[tuple[Run, str]]:
    """Stores all that was recorded; the runs with what was slowed in them."""
    project = Project.objects.create(slug="benchmark", name="benchmark")
    start, stop = from_seconds(recorded[0].start - 60), from_seconds(recorded[-1].stop + 60)
    cluster = Cluster.objects.create(
        project=project, scheduler_id="benchmark", name="benchmark", started=start, last_seen=stop
    )
    with Writer() as writer:
        for body in bodies:
            batch, _ = batch_of(cluster.pk, *decode_batch(gzip.decompress(body)))
            writer.write(replace(batch, head=None))
    found = []
    for each in recorded:
        run = Run.objects.create(
            cluster=cluster,
            name="etl",
            origin=Run.Origin.CUT,
            outcome=Run.Outcome.FINISHED,
            start=from_seconds(each.start),
            stop=from_seconds(each.stop),
        )
        refresh_figures(run)
        found.append((run, each.slowed))
    return found


def checked(runs: list[tuple[Run, str]]) -> dict[str, list[Mapping[str, Any]]]:
    """The checks of runs by what was slowed in them, each against the last HISTORY without a change."""
    found: dict[str, list[Mapping[str, Any]]] = {"": [], "join": [], "all": []}
    usual: list[Run] = []
    for run, slowed in runs:
        if len(usual) >= HISTORY:
            with read_connection() as connection:
                found[slowed].append(check(connection, run, usual[-HISTORY:][::-1], Limits()))
        if not slowed:
            usual.append(run)
    return found


def share(checks: list[Mapping[str, Any]], verdict: str) -> float:
    return round(sum(each["verdict"] == verdict for each in checks) / len(checks), 4)


def spread(checks: list[Mapping[str, Any]], name: str) -> dict[str, float]:
    """How much the runs varied that others were checked against, by one criterion."""
    found = [each["spread"] or 0.0 for check in checks for each in check["criteria"] if each["name"] == name]
    return {"median": sorted(found)[len(found) // 2], "largest": max(found)}


def main() -> int:
    with own_database(DATABASE):
        found = checked(store(*record()))
    same, prefix, everything = found[""], found["join"], found["all"]
    slowed = prefix + everything
    print(table(slowed[0], ""), file=sys.stderr)  # type: ignore[arg-type]
    against = f"{HISTORY} runs before it"
    results = [
        Result(f"alarms: share of {len(same)} runs without a change", against, share(same, "worse"), 0.01),
        Result(
            f"slower by a fifth: share of {len(slowed)} runs that is found",
            against,
            share(slowed, "worse"),
            0.95,
            True,
        ),
        Result(
            f"one prefix slower by a fifth: share of {len(prefix)} runs that is found",
            against,
            share(prefix, "worse"),
        ),
        Result(
            f"everything slower by a fifth: share of {len(everything)} runs that is found",
            against,
            share(everything, "worse"),
            0.95,
            True,
        ),
        Result("can't be told: share of runs without a change", against, share(same, "unclear")),
        Result("can't be told: share of runs slower by a fifth", against, share(slowed, "unclear")),
    ]
    alarms = Counter(
        each["name"] for check in same for each in check["criteria"] if each["verdict"] == "worse"
    )
    details = {
        "work": WORK,
        "runs": {"same": len(same), "prefix": len(prefix), "all": len(everything)},
        "spread": {name: spread(same, name) for name in ("duration", "pace")},
        "alarms": dict(alarms),
    }
    return print_results("check", results, ["dask", "distributed", "scipy"], **details)


if __name__ == "__main__":
    sys.exit(main())
