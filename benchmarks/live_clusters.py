"""CLUSTERS live clusters of 4 workers: server time of their list and of searches, and rounds of 20 rules.

Clusters have what a collector stores of them: samples of the cluster and of its workers each 5 s, up to now.
The rules are of 20 kinds. In each second round one cluster of SELDOM has gauges at three times their usual
values, so that some of the rules fire and are resolved. The answers are asked for in this process, without
the network; a round evaluates all shards over STEP seconds that are new in all clusters. What each takes is
the CPU time of this process and of PostgreSQL's sessions: on a quiet machine nothing else happens. Prints one
JSON line. DATABASE_URL names the server; otherwise the embedded one is started.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.measuring.django_setup import set_up

os.environ["OBSERVATORY_LOCAL_CHANNELS"] = "1"
set_up()

from django.contrib.auth.models import User  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils.timezone import now  # noqa: E402

from benchmarks.alerts import conditions, event  # noqa: E402
from benchmarks.fleet import OF_CLUSTERS  # noqa: E402
from benchmarks.measuring.answers import cost_of, processor_seconds  # noqa: E402
from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.simulated.stored_cluster import make_stored_cluster  # noqa: E402
from observatory.alerts.models import Condition, Progress, Rule  # noqa: E402
from observatory.alerts.tasks import SHARDS, evaluate_shard  # noqa: E402
from observatory.clusters.live import fleet  # noqa: E402
from observatory.clusters.models import Cluster, Project  # noqa: E402
from observatory.store.connection import connect  # noqa: E402
from observatory.store.ingest.batches.batch import Batch  # noqa: E402
from observatory.store.ingest.joint_writer import JointWriter  # noqa: E402
from observatory.wire.records import MetricType, Sample, Series  # noqa: E402

DATABASE = "observatory_benchmark_live"
CLUSTERS, ROUNDS = int(os.environ.get("CLUSTERS", "1000")), int(os.environ.get("ROUNDS", "3"))
WORKERS, TOGETHER, SELDOM = 4, 50, 50
STEP, INTERVAL = 30.0, 5.0
"""seconds: what a round has of each of a thousand clusters, and between two samples"""
LIST_LIMIT, SEARCH_LIMIT, ROUND_LIMIT = 300, 500, 5.0
WORDS = ("cluster+77", "10.0.0.1", "nosuchthing")
OF_WORKERS = {
    "observatory_worker_memory_bytes": (("type", "process"),),
    "observatory_worker_cpu_percent": (),
    "observatory_worker_gil_contention_ratio": (),
    "observatory_worker_event_loop_interval_seconds": (),
    "observatory_worker_disk_ratio": (),
}


class Recording:
    """Clusters, of which what is new is stored as collectors do: many with a transaction."""

    def __init__(self, writer: JointWriter, started: float) -> None:
        project = Project.objects.create(name="Benchmark", slug="benchmark")
        self.writer, self.began, self.until, self.rounds = writer, started, started, 0
        self.clusters = []
        for number in range(CLUSTERS):
            cluster, self.workers = make_stored_cluster(project, number, started, 0, WORKERS)
            self.clusters.append(cluster.pk)
        self.gauges = [(Series(metric, labels), value) for metric, labels, value in OF_CLUSTERS]
        self.counters = []
        for worker in self.workers:
            self.gauges += [
                (Series(name, labels, worker.address), 0.5) for name, labels in OF_WORKERS.items()
            ]
            name = "dask_worker_transfer_outgoing_bytes_total"
            self.counters.append(Series(name, (), worker.address, MetricType.COUNTER))

    def samples(self, seconds: float, factor: float) -> list[Sample]:
        """Those of the next seconds, with gauges at so many times their usual values."""
        times = [self.until + INTERVAL * step for step in range(round(seconds / INTERVAL))]
        gauges = (Sample(series, time, factor * value) for time in times for series, value in self.gauges)
        counters = (
            Sample(series, time, 1e6 * (time - self.began)) for time in times for series in self.counters
        )
        return [*gauges, *counters]

    def store(self, seconds: float, is_first: bool = False) -> None:
        self.rounds += 1
        usual, high = self.samples(seconds, 1.0), self.samples(seconds, 1.0 + 2 * (self.rounds % 2))
        self.until += seconds
        workers = self.workers if is_first else []
        for first in range(0, len(self.clusters), TOGETHER):
            batches = [
                Batch.of(cluster, workers, samples=usual if cluster % SELDOM else high, committed=self.until)
                for cluster in self.clusters[first : first + TOGETHER]
            ]
            for stored in self.writer.write_together(batches):
                if isinstance(stored, Exception):
                    raise stored
        Cluster.objects.update(agent_heard=now(), last_seen=now())


def rules() -> Iterable[dict[str, Any]]:
    of_run = {"kind": "run", "measure": "duration", "comparison": ">", "threshold": 0.2, "by": "run"}
    others = (event(each, by="cluster") for each in ("run-slower", "unreachable", "collector-lag"))
    return [*conditions(1.1), of_run, *others]


def make_rules() -> int:
    Rule.objects.all().delete()
    for place, condition in enumerate(rules()):
        rule = Rule.objects.create(name=f"rule {place}", severity="info")
        Condition.objects.create(rule=rule, **condition)
    return Rule.objects.count()


def round_of_all() -> tuple[float, float]:
    """The seconds of a round, and the CPU seconds."""
    began, spent = time.perf_counter(), processor_seconds()
    for shard in range(SHARDS):
        evaluate_shard(shard)
    return time.perf_counter() - began, processor_seconds() - spent


def measure() -> int:
    number = make_rules()
    started = time.time() - STEP * (ROUNDS + 3)
    with JointWriter() as writer:
        recording = Recording(writer, started)
        recording.store(2 * STEP, is_first=True)
        with connect() as connection:
            connection.execute("ANALYZE")
        evaluate = [round_of_all()]
        for _ in range(ROUNDS):
            recording.store(STEP)
            evaluate.append(round_of_all())
    assert Progress.objects.count() == CLUSTERS
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("benchmark"))
    client.get("/account/tokens/")
    fleet.LIFETIME = 0.0
    listed = cost_of(client, "/clusters/?state=live")
    searched = {word: cost_of(client, f"/search/?q={word}") for word in WORDS}
    what = f"{CLUSTERS:,} live clusters of {WORKERS} workers"
    results = [
        Result(f"{what}: their list (ms)", "limit", round(1e3 * listed.processor), LIST_LIMIT),
        Result(
            f"{what}: a search, slowest of {len(WORDS)} (ms)",
            "limit",
            round(1e3 * max(cost.processor for cost in searched.values())),
            SEARCH_LIMIT,
        ),
        Result(
            f"{what}: a round of {number} rules over {STEP:g} s (s)",
            "limit",
            round(max(spent for _, spent in evaluate[1:]), 2),
            ROUND_LIMIT,
        ),
    ]
    return print_results(
        "live_clusters",
        results,
        ("psycopg", "django", "numpy"),
        rounds=[[round(seconds, 2) for seconds in each] for each in evaluate],
        list_ms=[round(1e3 * listed.first), round(1e3 * listed.median)],
        search_ms={
            word: [round(1e3 * cost.first), round(1e3 * cost.median)] for word, cost in searched.items()
        },
    )


def main() -> int:
    with own_database(DATABASE):
        return measure()


if __name__ == "__main__":
    sys.exit(main())
