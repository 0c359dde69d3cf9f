from __future__ import annotations

from typing import Any

import psycopg
import pytest

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.windows.thread_time import process_starts
from observatory.wire.records import WorkerGone


def described(make: Any, time: float, address: str, pid: int, started: Any) -> Any:
    return make.worker(time, address, detail={"pid": pid, "process_started": started})


def test_workers_that_arrived_in_the_window_have_the_start_of_their_process(
    writer: Writer, connection: psycopg.Connection, cluster: int, now: float, make: Any
) -> None:
    def found(start: float, stop: float) -> list[float]:
        window = round(start * 1e6), round(stop * 1e6)
        return [begun for _, begun in process_starts(connection, cluster, *window)]

    early = described(make, now, "tcp://w:1", 1, now - 3)
    later = described(make, now + 10, "tcp://w:2", 2, now + 8)
    hostile = described(make, now + 10, "tcp://w:3", 3, "soon")
    unknown = make.worker(now + 10, "tcp://w:4")
    writer.write(Batch.of(cluster, workers=[early, later, hostile, unknown]))
    assert found(now - 1, now + 20) == [pytest.approx(now - 3), pytest.approx(now + 8)]
    assert found(now + 1, now + 20) == [pytest.approx(now + 8)]
    assert found(now + 1, now + 9) == []

    # a process that lost the scheduler and came back did not start up in between
    writer.write(Batch.of(cluster, gone=[WorkerGone("tcp://w:2", now + 12, "lost")]))
    writer.write(Batch.of(cluster, workers=[described(make, now + 15, "tcp://w:2", 2, now + 8)]))
    assert found(now + 14, now + 20) == [pytest.approx(now + 12)]
