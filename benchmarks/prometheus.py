"""Prometheus' remote_read, a day of SERIES series in one request, and remote_write, scrape by scrape.

Requests go through the whole of the web process' code, in this process. Written are samples of WORKERS
workers in requests of SENT samples, as Prometheus sends them; the CPU time is that of this process, without
PostgreSQL's. Prints one JSON line; the exit code is 1 if a limit was missed.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.measuring.django_setup import set_up

set_up()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.test import Client  # noqa: E402

from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from observatory.clusters.models import Cluster, Project  # noqa: E402
from observatory.clusters.tokens import access_tokens, ingest_tokens  # noqa: E402
from observatory.collect.agents.writers import writer  # noqa: E402
from observatory.store.connection import connect  # noqa: E402
from observatory.store.ingest.batches.batch import Batch  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.times import from_seconds  # noqa: E402
from observatory.wire.records import Sample, Series  # noqa: E402
from tests.support.prometheus import PROTOBUF, WRITE, post, query, results_of, write_request  # noqa: E402

DATABASE = "observatory_prometheus_benchmark"
SERIES, INTERVAL, DAY = 1_000, 15, 86_400
BEGAN = 1_790_035_200.0
"""a midnight"""
METRIC = "dask_worker_tasks"
WORKERS, OF_WORKER, SENT, SCRAPES = 100, 100, 2_000, 30
TIMES = 3


def make(project: Project) -> None:
    """A cluster with a day of samples."""
    cluster = Cluster.objects.create(
        project=project,
        scheduler_id="Scheduler-1",
        name="etl",
        started=from_seconds(BEGAN),
        last_seen=from_seconds(BEGAN + DAY),
        ended=from_seconds(BEGAN + DAY),
    )
    ends = [
        Sample(Series(METRIC, (("number", str(number)),)), at, 0.0)
        for number in range(SERIES)
        for at in (BEGAN, BEGAN + DAY - INTERVAL)
    ]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, samples=ends))
    with connect() as connection:
        connection.execute(
            """INSERT INTO sample (series_id, cluster_id, time, value)
               SELECT series.id, %s, time, extract(epoch FROM time)::bigint %% 9973 + series.id / 7.0
               FROM generate_series(%s::timestamptz, %s, make_interval(secs => %s)) AS time
               CROSS JOIN series WHERE series.cluster_id = %s""",
            [
                cluster.pk,
                from_seconds(BEGAN + INTERVAL),
                from_seconds(BEGAN + DAY - 2 * INTERVAL),
                INTERVAL,
                cluster.pk,
            ],
        )
        connection.execute("VACUUM ANALYZE sample")


def written() -> list[bytes]:
    """Bodies: OF_WORKER series of each worker, scrape by scrape."""
    bodies = []
    for scrape in range(SCRAPES):
        at = BEGAN + scrape * INTERVAL
        series = [
            (
                {
                    "__name__": f"dask_worker_metric_{number}",
                    "cluster": "written",
                    "instance": f"10.0.{worker}.1:4000",
                    "job": "dask-workers",
                    "namespace": "analysis",
                    "pod": f"worker-{worker}",
                },
                [(at + worker / 1e3, scrape * 1.5 + number)],
            )
            for worker in range(WORKERS)
            for number in range(OF_WORKER)
        ]
        bodies += [write_request(*series[first : first + SENT]) for first in range(0, len(series), SENT)]
    return bodies


def write(secret: str, bodies: list[bytes]) -> tuple[float, float]:
    """Samples in a second of this process' CPU time, and of the clock."""
    client = Client()
    headers = {"Content-Encoding": "snappy", "Authorization": f"Bearer {secret}"}
    warm = WORKERS * OF_WORKER // SENT  # of the first scrape, whose series are new
    for place, body in enumerate(bodies):
        if place == warm:
            began, cpu = time.perf_counter(), time.process_time()
        answer = client.post(f"{WRITE}?interval={INTERVAL}", body, content_type=PROTOBUF, headers=headers)
        assert answer.status_code == 204, answer.content
    cpu, elapsed = time.process_time() - cpu, time.perf_counter() - began
    with writer() as one:
        one.close()  # else the database can't be removed
    samples = (len(bodies) - warm) * SENT
    return samples / cpu, samples / elapsed


def main() -> int:
    settings.ALLOWED_HOSTS = ["testserver"]
    with own_database(DATABASE):
        project = Project.objects.create(name="etl", slug="etl", retention_days=3650)
        of_cpu, of_clock = write(ingest_tokens.make(project, "prometheus", None)[1], written())
        make(project)
        user = User.objects.create(username="ada", is_superuser=True)
        secret = access_tokens.make(user, "prometheus", None)[1]
        asked = query(("__name__", "=", METRIC), start=BEGAN, stop=BEGAN + DAY + 1)
        post(Client(), query(("__name__", "=", METRIC), start=BEGAN, stop=BEGAN + 60), secret=secret)
        before, seconds = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
        for _ in range(TIMES):
            began = time.perf_counter()
            answer = post(Client(), asked, secret=secret)
            seconds.append(time.perf_counter() - began)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        [found] = results_of(answer)
        assert len(found) == SERIES
        assert sum(map(len, found.values())) == SERIES * (DAY // INTERVAL + 1), "with a mark of each end"
    what = f"remote_read: a day of {SERIES:,} series at {INTERVAL} s"
    results = [
        Result(f"{what} (s, median)", "the limit", round(statistics.median(seconds), 2), 10.0),
        Result(f"{what}: memory of the process (MiB more)", "the limit", round(grown), 512),
        Result(f"{what}: answer (MB)", "for information", round(len(answer.content) / 1e6)),
    ]
    results += [
        Result(
            "remote_write: samples in a second of a core", "the limit", round(of_cpu), 25_000, at_least=True
        ),
        Result(
            "remote_write: samples in a second, one request at a time", "for information", round(of_clock)
        ),
    ]
    return print_results("prometheus", results, ["cramjam", "numpy", "protobuf", "psycopg"])


if __name__ == "__main__":
    sys.exit(main())
