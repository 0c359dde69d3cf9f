"""How many workers a window had: slots, lifetimes, and the most at a time."""

from __future__ import annotations

import psycopg
import pytest

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.windows.workers.existence import WorkerExistence, worker_existence
from observatory.store.queries.windows.workers.peak_memory import PeakMemory, peak_memory
from observatory.store.times import from_seconds
from observatory.wire.records import Sample, Series, WorkerGone, WorkerSeen

START = 1_700_000_000.0
GIB = 2**30


def seen(address: str, at: float, name: str = "", nanny: str = "", threads: int = 2) -> WorkerSeen:
    detail = {"nanny": nanny} if nanny else {}
    return WorkerSeen(address, name, "h", threads, GIB, START + at, detail=detail)


def gone(address: str, at: float) -> WorkerGone:
    return WorkerGone(address, START + at, "restarted")


def memory(address: str, at: float, nbytes: float, type: str = "process") -> Sample:
    labels = (("type", type),)
    return Sample(Series("observatory_worker_memory_bytes", labels, address), START + at, nbytes)


def store(cluster: int, *records: WorkerSeen | WorkerGone | Sample) -> None:
    with Writer() as writer:
        for record in records:
            writer.write(
                Batch.of(
                    cluster,
                    [record] if isinstance(record, WorkerSeen) else [],
                    gone=[record] if isinstance(record, WorkerGone) else [],
                    samples=[record] if isinstance(record, Sample) else [],
                )
            )


def existence(connection: psycopg.Connection, cluster: int, start: float, stop: float) -> WorkerExistence:
    return worker_existence(connection, cluster, from_seconds(START + start), from_seconds(START + stop))


def peaks(connection: psycopg.Connection, cluster: int, start: float, stop: float) -> PeakMemory:
    return peak_memory(connection, cluster, from_seconds(START + start), from_seconds(START + stop))


def test_a_worker_that_its_nanny_starts_again_is_one_worker(
    cluster: int, connection: psycopg.Connection
) -> None:
    store(
        cluster,
        seen("tcp://h:1", 0, nanny="tcp://h:9"),
        gone("tcp://h:1", 10),
        seen("tcp://h:2", 12, nanny="tcp://h:9"),
        seen("tcp://h:3", 0, nanny="tcp://h:8"),
    )
    found = existence(connection, cluster, 0, 20)
    assert (found.workers, found.lifetimes, found.most_workers) == (2, 3, 2)
    assert (found.threads, found.memory_limit) == (4, 2 * GIB)
    assert found.worker_seconds == pytest.approx(38)
    assert found.thread_seconds == pytest.approx(76)
    assert found.memory_seconds == pytest.approx(38 * GIB)
    between = existence(connection, cluster, 10.5, 11.5)
    assert (between.workers, between.lifetimes, between.threads) == (1, 1, 2)


def test_a_lifetime_whose_end_was_recorded_late_or_never_ends_with_the_next_one(
    cluster: int, connection: psycopg.Connection
) -> None:
    store(
        cluster,
        seen("tcp://h:1", 0, name="alice"),
        seen("tcp://h:2", 10, name="alice"),
        seen("tcp://h:3", 15, name="alice"),
        gone("tcp://h:2", 18),
    )
    found = existence(connection, cluster, 0, 20)
    assert (found.workers, found.lifetimes, found.most_workers, found.threads) == (1, 3, 1, 2)
    assert found.worker_seconds == pytest.approx(20)
    late = existence(connection, cluster, 16, 20)
    assert (late.workers, late.most_workers) == (1, 1)
    assert late.worker_seconds == pytest.approx(4)


def test_workers_that_replace_others_at_the_same_instant_are_not_there_twice(
    cluster: int, connection: psycopg.Connection
) -> None:
    store(cluster, seen("tcp://h:1", 0, threads=4), gone("tcp://h:1", 10), seen("tcp://h:2", 10, threads=3))
    found = existence(connection, cluster, 0, 20)
    assert (found.workers, found.lifetimes, found.most_workers, found.threads) == (2, 2, 1, 4)


def test_a_window_without_workers_has_none(cluster: int, connection: psycopg.Connection) -> None:
    assert existence(connection, cluster, 0, 20) == WorkerExistence(0, 0, 0, 0, 0, 0.0, 0.0, 0.0)
    assert peaks(connection, cluster, 0, 20) == PeakMemory(None, None, None)


def test_a_peak_is_held_against_the_limits_of_the_workers_that_were_there(
    cluster: int, connection: psycopg.Connection
) -> None:
    store(
        cluster,
        seen("tcp://h:1", 0, name="alice"),
        memory("tcp://h:1", 1, 0.5 * GIB),
        memory("tcp://h:1", 1, 3 * GIB, "spilled"),
        seen("tcp://h:2", 20, name="bob"),
        memory("tcp://h:2", 21, 0.1 * GIB),
        memory("tcp://h:1", 21, 0.2 * GIB),
    )
    assert peaks(connection, cluster, 0, 30) == PeakMemory(0.5 * GIB, GIB, 3 * GIB)
    assert peaks(connection, cluster, 10, 30) == PeakMemory(pytest.approx(0.3 * GIB), 2 * GIB, None)


def test_a_worker_that_is_restarted_within_a_sample_has_the_memory_of_one_process(
    cluster: int, connection: psycopg.Connection
) -> None:
    store(
        cluster,
        seen("tcp://h:1", 0, name="alice"),
        memory("tcp://h:1", 1, 0.5 * GIB),
        gone("tcp://h:1", 2),
        seen("tcp://h:2", 3, name="alice"),
        memory("tcp://h:2", 4, 0.75 * GIB),
    )
    assert peaks(connection, cluster, 0, 5) == PeakMemory(0.75 * GIB, GIB, None)
