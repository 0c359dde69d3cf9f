"""Server time of the list of CLUSTERS live clusters with their figures, relative to a list without clusters.

Clusters have what agents send: series of the cluster and of WORKERS workers, a sample per second, and some
alerts that fire. Measures the answer of the page in this process, without the network: once with figures that
are read for it, and once with those that another one asked for within two seconds. Prints one JSON line.
DATABASE_URL names the server; otherwise the embedded one is started.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.measuring.django_setup import set_up

os.environ["OBSERVATORY_LOCAL_CHANNELS"] = "1"
set_up()

from django.contrib.auth.models import User  # noqa: E402
from django.test import Client  # noqa: E402

from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.simulated.stored_cluster import make_stored_cluster  # noqa: E402
from observatory.alerts.models import Alert, Rule  # noqa: E402
from observatory.clusters.live import fleet  # noqa: E402
from observatory.clusters.models import Project  # noqa: E402
from observatory.store.connection import connect  # noqa: E402
from observatory.store.ingest.batches.batch import Batch  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.times import from_seconds  # noqa: E402
from observatory.wire.metrics import TASKS_COMPUTED  # noqa: E402
from observatory.wire.records import MetricType, Sample, Series  # noqa: E402

DATABASE = "observatory_benchmark_fleet"
CLUSTERS, WORKERS = int(os.environ.get("CLUSTERS", "500")), int(os.environ.get("WORKERS", "8"))
SECONDS, ROUNDS = int(os.environ.get("SECONDS", "120")), int(os.environ.get("ROUNDS", "20"))
COLD_LIMIT, SHARED_LIMIT = 30.0, 20.0
GIB = 2**30
PATH = "/clusters/?state=live"

OF_CLUSTERS = [
    ("observatory_cluster_threads", (), 2.0 * WORKERS),
    ("observatory_cluster_busy_threads", (), 1.0 * WORKERS),
    ("observatory_cluster_memory_limit_bytes", (), 4.0 * GIB * WORKERS),
    *(("observatory_cluster_workers", (("state", state),), 8.0) for state in ("total", "idle", "saturated")),
    *(
        ("observatory_cluster_memory_bytes", (("type", kind),), 2.0 * GIB * WORKERS)
        for kind in ("process", "managed", "unmanaged", "spilled")
    ),
    *(
        ("observatory_cluster_tasks", (("state", state),), 100.0)
        for state in ("waiting", "queued", "no-worker", "processing", "memory", "erred", "released")
    ),
]


def make_cluster(writer: Writer, project: Project, number: int, start: float) -> None:
    cluster, workers = make_stored_cluster(project, number, start, SECONDS, WORKERS)
    addresses = [worker.address for worker in workers]
    series = [(Series(metric, labels), value) for metric, labels, value in OF_CLUSTERS]
    series += [(Series("observatory_worker_cpu_percent", (), address), 150.0) for address in addresses]
    counter = Series(TASKS_COMPUTED, (), "", MetricType.COUNTER)
    samples = [Sample(each, start + second, value) for second in range(SECONDS) for each, value in series]
    samples += [Sample(counter, start + second, 10.0 * second) for second in range(0, SECONDS, 5)]
    writer.write(Batch.of(cluster.pk, workers, [], samples))
    if number % 10 == 0:
        Alert.objects.create(
            rule=Rule.objects.get_or_create(name="spilling")[0],
            cluster=cluster,
            severity="warning",
            state=Alert.State.FIRING,
            pending=from_seconds(start),
            fired=from_seconds(start),
            fingerprint=str(number),
        )


def milliseconds(client: Client) -> float:
    """The median time of an answer."""
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        answer = client.get(PATH)
        taken.append(time.perf_counter() - began)
        assert answer.status_code == 200
    return round(statistics.median(taken) * 1e3, 2)


def measure() -> int:
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("benchmark"))
    client.get(PATH)
    fleet.LIFETIME = 0.0
    empty = milliseconds(client)
    project, start = Project.objects.create(name="Benchmark", slug="benchmark"), time.time() - SECONDS
    with Writer() as writer:
        for number in range(CLUSTERS):
            make_cluster(writer, project, number, start)
    with connect() as connection:
        connection.execute("ANALYZE")
    client.get(PATH)
    cold = milliseconds(client)
    fleet.LIFETIME = 3_600.0
    shared = milliseconds(client)
    results = [
        Result(
            f"time of the answer with {CLUSTERS} live clusters, figures read for it",
            "the list without clusters",
            round(cold / empty, 2),
            COLD_LIMIT,
        ),
        Result(
            f"time of the answer with {CLUSTERS} live clusters, figures shared",
            "the list without clusters",
            round(shared / empty, 2),
            SHARED_LIMIT,
        ),
        Result(f"time of the answer with {CLUSTERS} live clusters, figures read for it (ms)", "–", cold),
    ]
    return print_results(
        "fleet", results, ("psycopg", "django"), empty_ms=empty, cold_ms=cold, shared_ms=shared
    )


def main() -> int:
    with own_database(DATABASE):
        return measure()


if __name__ == "__main__":
    sys.exit(main())
