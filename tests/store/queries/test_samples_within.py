"""The new samples of many series, from the partition that grows."""

from __future__ import annotations

import time
from typing import Any

import psycopg

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.alerts.series import SeriesWindow, samples_within, series_within
from observatory.store.times import seconds_to_microseconds
from observatory.wire.records import Sample, Series, WorkerSeen
from tests.support.query_plans import PlannedConnection

METRIC = "observatory_worker_cpu_percent"
WORKERS = [f"tcp://10.0.0.1:{port}" for port in range(4000, 4100)]
OLD, NEW = 400, 10
"""samples of each worker, a second apart"""


def test_new_samples_are_looked_up_by_series_where_the_statistics_know_only_old_ones(
    cluster: int, writer: Writer, connection: psycopg.Connection
) -> None:
    now = float(int(time.time()))
    workers = [WorkerSeen(worker, worker, "host", 1, 0, now - OLD) for worker in WORKERS]
    series = [Series(METRIC, (), worker) for worker in WORKERS]

    def samples(first: int, stop: int) -> list[Sample]:
        return [Sample(one, now + second, second) for second in range(first, stop) for one in series]

    writer.write(Batch.of(cluster, workers, samples=samples(-OLD, 0)))
    connection.execute("ANALYZE sample")
    writer.write(Batch.of(cluster, samples=samples(0, NEW)))
    start = seconds_to_microseconds(now)
    stop = seconds_to_microseconds(now + NEW)
    known = series_within(connection, {cluster: (start, stop)}, [METRIC])[cluster]
    planned: Any = PlannedConnection(connection)
    found = samples_within(planned, [SeriesWindow(one.id, cluster, start, stop) for one in known])
    assert len(found["value"]) == len(WORKERS) * NEW
    assert planned.rows_removed < len(WORKERS) * NEW
