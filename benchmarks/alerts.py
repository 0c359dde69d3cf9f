"""Time of an evaluation round of 200 rules over 100 live clusters, and from a sample to a webhook.

Another process writes what agents would send, a batch per second and cluster: 10 workers with their samples.
The rules are like the ready-made ones with random thresholds, so that a part of them is true. A round runs
Celery's tasks, all shards in threads of one process. Then Valkey, Celery's beat and a worker evaluate the
same rules, and a metric of a cluster rises above its threshold: measures the seconds from the commit of that
sample until a webhook on this machine receives the alert. Prints one JSON line. DATABASE_URL names the
server; otherwise the embedded one is started.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.measuring.django_setup import set_up

os.environ["OBSERVATORY_LOCAL_CHANNELS"] = "1"
set_up()

from django.conf import settings  # noqa: E402
from django.db import connection as django_connection  # noqa: E402
from django.db import connections  # noqa: E402

from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from observatory.alerts.models import Alert, Channel, Condition, Progress, Rule  # noqa: E402
from observatory.alerts.secrets import encrypt  # noqa: E402
from observatory.alerts.tasks import ROUND, SHARDS, evaluate_shard  # noqa: E402
from observatory.clusters.models import Cluster, Project  # noqa: E402
from observatory.store.connection import connect  # noqa: E402
from observatory.store.ingest.batches.batch import Batch  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.wire.records import MetricType, Sample, Series, WorkerSeen  # noqa: E402
from tests.alerts.evaluation.pipeline import pipeline  # noqa: E402
from tests.alerts.notifying.receivers import WEBHOOK, Receiver, receiving  # noqa: E402

DATABASE = "observatory_benchmark_alerts"
CLUSTERS, WORKERS, RULES = (
    int(os.environ.get(name, "0")) or usual
    for name, usual in (("CLUSTERS", 100), ("WORKERS", 10), ("RULES", 200))
)
ROUNDS = int(os.environ.get("ROUNDS", "30"))
FIRINGS = int(os.environ.get("FIRINGS", "5"))
WARMING_UP = float(os.environ.get("WARMING_UP", "75"))
"""seconds, until rates over a minute have values"""
SECONDS, DELAY = 5.0, 15.0
GIB = 2**30
ALARM = "benchmark_alarm"

GAUGES = {
    "observatory_worker_memory_bytes": ((("type", "process"),), 4 * GIB),
    "observatory_worker_memory_bytes/managed": ((("type", "managed"),), 3 * GIB),
    "observatory_worker_memory_bytes/spilled": ((("type", "spilled"),), GIB),
    "observatory_worker_cpu_percent": ((), 200),
    "observatory_worker_gil_contention_ratio": ((), 1),
    "observatory_worker_event_loop_interval_seconds": ((), 0.5),
    "observatory_worker_disk_ratio": ((), 1),
}
COUNTERS = {"dask_worker_transfer_outgoing_bytes_total": 50e6, "dask_worker_spill_time_seconds_total": 0.5}
OF_CLUSTERS = {
    "observatory_cluster_memory_bytes": 40 * GIB,
    "observatory_cluster_tasks": 1_000,
    "observatory_scheduler_cpu_percent": 100,
}


def metric(name: str, threshold: float, **fields: Any) -> dict[str, Any]:
    return {"kind": "metric", "metric": name, "comparison": ">", "threshold": threshold, **fields}


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "event", "event": name, **fields}


def conditions(at: float) -> list[dict[str, Any]]:
    """Conditions like those of the ready-made rules; `at` (0 to 1) is the height of their thresholds."""
    memory, process = "observatory_worker_memory_bytes", 'type="process"'
    limited = {"other": "attribute", "other_attribute": "memory_limit"}
    return [
        metric(memory, at, labels=process, by="worker", clear_threshold=0.9 * at, **limited),
        metric(memory, at * GIB, labels='type="spilled"', by="worker"),
        metric(memory, 40 * GIB * at, labels=process, by="cluster"),
        metric("observatory_cluster_memory_bytes", 40 * GIB * at, by="cluster"),
        metric("observatory_worker_disk_ratio", at, by="worker"),
        metric("observatory_worker_gil_contention_ratio", at, by="cluster", aggregate="mean"),
        metric("observatory_worker_event_loop_interval_seconds", 0.5 * at, by="worker"),
        metric("observatory_worker_cpu_percent", 200 * at, by="cluster", aggregate="quantile"),
        metric("observatory_scheduler_cpu_percent", 100 * at, by="cluster"),
        metric("dask_worker_spill_time_seconds_total", at, by="worker", function="rate", window_seconds=60),
        metric("dask_worker_transfer_outgoing_bytes_total", 1e9 * at, by="cluster", function="rate"),
        event("worker-lost", by="worker", window_seconds=300),
        event("worker-paused", by="worker"),
        event("killed-worker", by="cluster", window_seconds=300),
        event("task-erred", by="cluster", count=10),
        event("log", by="worker", level=40, pattern="(?i)out of memory"),
    ]


def make_rules() -> None:
    Rule.objects.all().delete()
    chance = random.Random(1)
    for number in range(RULES):
        usual = conditions(chance.uniform(0.8, 1.4))
        hold = chance.choice((0, 10, 30, 60))
        rule = Rule.objects.create(name=f"rule {number}", severity="info", hold_seconds=hold)
        Condition.objects.create(rule=rule, **usual[number % len(usual)])
    rule = Rule.objects.create(name=ALARM, severity="critical")
    Condition.objects.create(rule=rule, **metric(ALARM, 10, by="cluster"))


def make_clusters() -> list[int]:
    project = Project.objects.create(name="Team", slug="team")
    now = datetime.now(UTC)
    return [
        Cluster.objects.create(
            project=project,
            scheduler_id=f"Scheduler-{number}",
            name=f"cluster {number}",
            started=now,
            last_seen=now,
            agent_heard=now,
        ).pk
        for number in range(CLUSTERS)
    ]


class Load:
    """The batches of all clusters' agents; values vary at random."""

    def __init__(self, clusters: list[int]) -> None:
        self.chance = random.Random(2)
        self.clusters = clusters
        self.workers = [f"tcp://10.0.0.{number}:4000" for number in range(WORKERS)]
        self.series: list[tuple[Series, float]] = []
        for worker in self.workers:
            for name, (labels, most) in GAUGES.items():
                self.series.append((Series(name.partition("/")[0], labels, worker), most))
            for name, most in COUNTERS.items():
                self.series.append((Series(name, (), worker, MetricType.COUNTER), most))
        self.series += [(Series(name), most) for name, most in OF_CLUSTERS.items()]
        self.phases = {cluster: self.chance.uniform(0, 600) for cluster in clusters}
        self.alarms = dict.fromkeys(clusters, 0.0)

    def batch(self, cluster: int, now: float, is_first: bool) -> Batch:
        seen = [
            WorkerSeen(address, f"w{number}", "10.0.0.1", 4, 4 * GIB, now)
            for number, address in enumerate(self.workers)
        ]
        samples = [
            Sample(series, now, self._value(cluster, place, most, series.type, now))
            for place, (series, most) in enumerate(self.series)
        ]
        samples.append(Sample(Series(ALARM), now, self.alarms[cluster]))
        return Batch.of(cluster, workers=seen if is_first else [], samples=samples, committed=now)

    def _value(self, cluster: int, place: int, most: float, type: MetricType, now: float) -> float:
        if type == MetricType.COUNTER:
            return most * (now % 100_000)
        level = 0.5 + 0.5 * math.sin((now + self.phases[cluster] + 37 * place) / 60)
        return most * level


def write_load(clusters: list[int], orders: Connection) -> None:
    """Writes until it receives None. On a cluster's id it raises the cluster's alarm and answers with the
    time."""
    point_at_database()
    load, ordered, is_first = Load(clusters), 0, True
    with Writer() as writer, connect() as direct:
        while True:
            due = time.monotonic() + 1
            for cluster in clusters:
                writer.write(load.batch(cluster, time.time(), is_first))
                if cluster == ordered:
                    orders.send(time.time())
                    ordered = 0
            direct.execute("UPDATE clusters_cluster SET agent_heard = now()")
            is_first = False
            if orders.poll(max(0.0, due - time.monotonic())):
                ordered = orders.recv()
                if ordered is None:
                    return
                load.alarms[ordered] = 20.0
                time.sleep(max(0.0, due - time.monotonic()))


@contextmanager
def writing(clusters: list[int]) -> Iterator[Connection]:
    """A process that writes; the connection takes orders."""
    orders, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=write_load, args=(clusters, theirs), daemon=True)
    process.start()
    try:
        yield orders
    finally:
        orders.send(None)
        process.join(30)
        process.kill()


def point_at_database() -> None:
    """Uses the benchmark's database in a new process."""
    for settings_dict in (settings.DATABASES["default"], django_connection.settings_dict):
        settings_dict["NAME"] = DATABASE


def evaluate(shard: int) -> None:
    try:
        evaluate_shard(shard)
    finally:
        connections.close_all()


def rounds() -> list[float]:
    """The seconds of each round; rounds begin ROUND apart, or at once if one takes longer."""
    found = []
    with ThreadPoolExecutor(SHARDS) as threads:
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            list(threads.map(evaluate, range(SHARDS)))
            found.append(time.perf_counter() - begun)
            time.sleep(max(0.0, ROUND - found[-1]))
    return found


def delays(clusters: list[int], orders: Connection, webhook: Receiver) -> list[float]:
    """The seconds from the commit of a sample until the webhook has its alert, for several alerts."""
    found = []
    for cluster in clusters[:FIRINGS]:
        orders.send(cluster)
        written = orders.recv()
        while len(webhook.bodies) <= len(found):
            if time.time() - written > 120:
                raise RuntimeError("no notification arrived within two minutes")
            time.sleep(0.02)
        found.append(time.time() - written)
    return found


def measure() -> tuple[list[Result], dict[str, Any]]:
    make_rules()
    clusters = make_clusters()
    with writing(clusters) as orders, receiving(WEBHOOK) as webhook, pipeline() as processes:
        warm = math.inf
        while time.monotonic() < warm:
            for shard in range(SHARDS):
                evaluate(shard)
            time.sleep(ROUND)
            if Progress.objects.count() == CLUSTERS:
                warm = min(warm, time.monotonic() + WARMING_UP)
        taken = rounds()
        reached = Progress.objects.count()
        firing = Alert.objects.filter(state=Alert.State.FIRING).count()
        made = Alert.objects.count()
        Channel.objects.create(
            name="hook", kind="webhook", secret=encrypt(webhook.url), minimum_severity="critical"
        )
        processes.start()
        time.sleep(30)
        delayed = delays(clusters, orders, webhook)
    p95 = statistics.quantiles(taken, n=20)[-1]
    what = f"a round of {RULES} rules over {CLUSTERS} live clusters of {WORKERS} workers"
    results = [
        Result(f"{what} (s, 95 %)", "limit", round(p95, 2), SECONDS),
        Result("from a sample's commit to a webhook (s, longest)", "limit", round(max(delayed), 1), DELAY),
    ]
    return results, {
        "rounds": [round(seconds, 2) for seconds in taken],
        "delays": [round(seconds, 1) for seconds in delayed],
        "clusters_evaluated": reached,
        "alerts_firing": firing,
        "alerts_made": made,
    }


def main() -> int:
    with own_database(DATABASE):
        results, measured = measure()
    return print_results("alerts", results, ("psycopg", "numpy", "celery"), **measured)


if __name__ == "__main__":
    sys.exit(main())
