"""What a cluster consists of, as its pages list it."""

from __future__ import annotations

import psycopg

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.dimensions import read_dimensions
from observatory.wire.records import Sample, Series, WorkerSeen

METRIC = "observatory_worker_cpu_percent"
WORKERS = [f"tcp://10.0.0.1:{port}" for port in range(4000, 4005)]


def test_the_series_of_a_metric_are_listed_in_one_order_wherever_their_rows_lie(
    cluster: int, writer: Writer, connection: psycopg.Connection
) -> None:
    workers = [WorkerSeen(worker, worker, "host", 1, 0, 1_780_000_000.0) for worker in WORKERS]
    samples = [Sample(Series(METRIC, (), worker), 1_780_000_001.0, 1.0) for worker in WORKERS]
    writer.write(Batch.of(cluster, workers, samples=samples))
    [listed] = read_dimensions(connection, cluster, [METRIC]).series
    connection.execute(
        "UPDATE series SET labels = labels WHERE id = ANY(%s)", [listed["ids"][:2]]
    )  # their rows are the last ones now
    assert read_dimensions(connection, cluster, [METRIC]).series == [listed]
    assert listed["ids"] == sorted(listed["ids"])
