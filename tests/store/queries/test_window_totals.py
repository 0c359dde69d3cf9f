"""Totals of a window."""

from __future__ import annotations

import psycopg

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.windows.totals import window_totals
from observatory.store.times import from_seconds
from observatory.wire.records import Action, Event, Sample, Series, Span, WorkerSeen
from tests.store.conftest import ADDRESS

START = 1_700_000_000.0


def total(prefix: str, state: str) -> Series:
    labels = (("state", state), ("task_prefix_name", prefix))
    return Series("dask_scheduler_prefix_state_totals_total", labels)


def test_tasks_of_a_window_with_a_gap_are_those_that_the_scheduler_counted(
    cluster: int, connection: psycopg.Connection
) -> None:
    def tasks(start: float, stop: float) -> int:
        window = from_seconds(START + start), from_seconds(START + stop)
        return window_totals(connection, cluster, *window).tasks

    counted = {5: (100, 40), 15: (100, 40), 25: (300, 240)}
    samples = [
        Sample(total("inc", state), START + at, count)
        for at, counts in counted.items()
        for state, count in zip(("waiting", "memory"), counts, strict=True)
    ]
    samples += [Sample(total("ndarray", "memory"), START + at, at) for at in counted]
    span = Span(ADDRESS, 1, "inc-1", "inc", "inc", Action.COMPUTE, START + 11, START + 12)
    gap = Event(START + 13, "not-observed", "", {"first": START + 13, "last": START + 22})
    seen = WorkerSeen(ADDRESS, "w", "h", 1, 0, START)
    with Writer() as writer:
        writer.write(Batch.of(cluster, [seen], [span], samples))
        assert tasks(10, 30) == 1, "without a gap the spans are counted"
        writer.write(Batch.of(cluster, events=[gap]))
    assert tasks(10, 30) == 200
    assert tasks(20, 30) == 200, "the gap began before"
    assert tasks(10, 13) == 1
    assert tasks(23, 30) == 0


def test_bytes_that_only_spans_tell_of_are_unknown(cluster: int, connection: psycopg.Connection) -> None:
    def transferred(start: float, stop: float) -> int | None:
        window = from_seconds(START + start), from_seconds(START + stop)
        return window_totals(connection, cluster, *window).transferred

    def fetch(at: float) -> Span:
        return Span(ADDRESS, 1, "inc-1", "inc", "inc", Action.TRANSFER, START + at, START + at + 1, 99)

    def logged(at: float, direction: int, nbytes: float) -> tuple[object, ...]:
        return (START + at, START + at + 1, ADDRESS, "tcp://h:1", direction, nbytes, 0.0, {}, 1)

    seen = WorkerSeen(ADDRESS, "w", "h", 1, 0, START)
    with Writer() as writer:
        writer.write(Batch.of(cluster, [seen], [fetch(1)]))
        assert transferred(0, 10) is None
        assert transferred(3, 10) == 0, "there was none"
        rows = [logged(11, 0, 5.0), logged(12, 0, 7.0), logged(12, 1, 100.0)]
        writer.write(Batch.of(cluster, [seen], [fetch(11)], rows={"transfer": rows}))
    assert transferred(10, 20) == 12, "what workers received; those that sent it log it as well"
    assert transferred(0, 20) is None, "a part isn't all"
