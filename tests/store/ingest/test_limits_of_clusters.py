"""A cluster has limits of workers, threads and stacks; what is over one is stored under another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from observatory.store.connection import connect
from observatory.store.dask_names import OTHER
from observatory.store.ingest import writer as writers
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.interning import lifetimes, stacks
from observatory.store.ingest.known_clusters import KNOWN_CLUSTERS
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.writer import Writer
from observatory.wire.event_kinds import CLUSTER_ENDED
from observatory.wire.records import Event, WorkerGone

Rows = Callable[..., list[tuple[Any, ...]]]
WORKERS = "SELECT address, ended IS NULL FROM worker WHERE cluster_id = %s ORDER BY position"


@pytest.fixture(params=["one writer", "another process each time"])
def write(request: pytest.FixtureRequest, writer: Writer, cluster: int) -> Callable[..., Committed]:
    """Writes a batch; another process remembers nothing of the cluster."""

    def write(**records: Any) -> Committed:
        if request.param != "one writer":
            KNOWN_CLUSTERS.take(cluster)
        return writer.write(Batch.of(cluster, **records))

    return write


def address(number: int) -> str:
    return f"tcp://10.0.0.{number}:4000"


def test_records_of_workers_over_the_limit_are_those_of_one_other_worker(
    write: Callable[..., Committed],
    rows: Rows,
    cluster: int,
    now: float,
    make: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lifetimes, "MOST_LIFETIMES", 2)
    assert not write(workers=[make.worker(now, address=address(number)) for number in (1, 2)]).reasons
    for after in (1, 2):
        committed = write(
            workers=[make.worker(now + after, address=address(number)) for number in (2, 3, 4)],
            spans=[make.span(now + after, worker=address(number)) for number in range(1, 7)],
            samples=[make.sample(now + after, worker=address(number)) for number in range(1, 7)],
            rows={"log": [(now + after, "worker", address(5), 30, "distributed", "careful", "", 1)]},
        )
        assert committed.reasons == ["records of new workers are those of 'Other': a cluster may have 100000"]
    assert rows(WORKERS, cluster) == [(address(1), True), (address(2), True), (OTHER, True)]
    spans = """SELECT address, count(*) FROM span JOIN lane ON lane.id = lane_id
               JOIN worker ON worker.id = worker_id WHERE span.cluster_id = %s GROUP BY 1 ORDER BY 1"""
    assert rows(spans, cluster) == [(OTHER, 8), (address(1), 2), (address(2), 2)]
    assert rows("SELECT count(*) FROM series WHERE cluster_id = %s", cluster) == [(3,)]
    assert rows("SELECT count(*) FROM sample WHERE cluster_id = %s", cluster) == [(12,)]
    assert rows("SELECT count(*) FROM log WHERE cluster_id = %s", cluster) == [(2,)]


def test_workers_that_come_and_go_are_within_the_limit_and_the_others_end_with_their_cluster(
    write: Callable[..., Committed],
    rows: Rows,
    cluster: int,
    now: float,
    make: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lifetimes, "MOST_LIFETIMES", 3)
    for time in range(0, 100, 10):
        write(
            workers=[make.worker(now + time)],
            spans=[make.span(now + time), make.span(now + time, worker=OTHER)],
            gone=[
                WorkerGone(make.address, now + time + 5, "lost"),
                WorkerGone(OTHER, now + time + 5, "lost"),
            ],
        )
    assert len(rows(WORKERS, cluster)) <= 4
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(20,)]
    write(events=[Event(now + 200, CLUSTER_ENDED, "", {})])
    assert not any(is_open for _, is_open in rows(WORKERS, cluster))
    write(workers=[make.worker(now + 300)], spans=[make.span(now + 300)])
    assert len(rows(WORKERS, cluster)) <= 4


def test_threads_over_the_limit_are_their_workers_first(
    write: Callable[..., Committed],
    rows: Rows,
    cluster: int,
    now: float,
    make: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lifetimes, "MOST_LANES", 3)
    write(spans=[make.span(now, thread=thread) for thread in (7, 8, 9)])
    further = [make.span(now, thread=thread) for thread in range(10, 20)]
    first_of_another = make.span(now, thread=1, worker=address(2))
    committed = write(spans=[*further, first_of_another])
    assert committed.reasons == ["new threads are stored as their worker's first: a cluster may have 500000"]
    lanes = "SELECT thread FROM lane WHERE cluster_id = %s ORDER BY id"
    assert rows(lanes, cluster) == [(7,), (8,), (9,), (1,)]
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(14,)]


def test_stacks_over_the_limit_are_one_other_stack(
    write: Callable[..., Committed], rows: Rows, cluster: int, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, "MOST_STACKS", 3)

    def profile(*numbers: int) -> list[str]:
        some = [(now, "", "event-loop", "", f"f{number}\tfile.py\t1", 1) for number in numbers]
        return list(write(rows={"profile": some}).reasons)

    assert profile(1, 2, 3) == []
    assert profile(3, 4, 5) == ["2 new stacks are stored as 'Other': a cluster may have 100000"]
    assert profile(1, 2) == []
    frames = "SELECT frames FROM stack WHERE cluster_id = %s"
    assert {text.split("\t")[0] for (text,) in rows(frames, cluster)} == {"f1", "f2", "f3", OTHER}
    counts = """SELECT split_part(frames, chr(9), 1), sum(count)::int FROM profile
                JOIN stack ON stack.id = stack_id WHERE profile.cluster_id = %s GROUP BY 1 ORDER BY 1"""
    assert rows(counts, cluster) == [("Other", 2), ("f1", 2), ("f2", 2), ("f3", 2)]


def test_a_batch_that_hangs_on_a_lock_ends_and_is_stored_later(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write(Batch.of(cluster, spans=[make.span(now)]))
    monkeypatch.setattr(writers, "TIMEOUTS", "SELECT set_config('lock_timeout', '100ms', true)")
    batch = Batch.of(cluster, spans=[make.span(now + 1)])
    with connect() as other, other.transaction():
        other.execute("SELECT FROM extent WHERE cluster_id = %s FOR UPDATE", [cluster])
        with pytest.raises(psycopg.errors.LockNotAvailable):
            writer.write(batch)
    writer.write(batch)
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(2,)]
