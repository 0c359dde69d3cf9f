"""Records wait for the database within a limit; over it the least important are dropped."""

from __future__ import annotations

import asyncio
import threading
import time

import psycopg
import pytest
from django.conf import settings

from observatory.collect.collector.writing.outbox import (
    LARGEST_CAPACITY,
    RECORD_BYTES,
    SAMPLE_BYTES,
    SMALLEST_CAPACITY,
    Outbox,
    capacity_for,
)
from observatory.collect.collector.writing.slowdown import CALM, LARGEST_FACTOR, LONGEST_PERIOD, Slowdown
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.publishing.committed import Committed
from observatory.wire.records import Event, Sample, Series, WorkerGone
from tests.collect.collector.outputs import CLUSTER, WORKER, Output, dropped_events, output, seen, span
from tests.collect.observer import eventually, read

__all__ = ["output"]

pytestmark = pytest.mark.usefixtures("store")


async def test_records_are_stored_then_published(output: Output) -> None:
    now = time.time()
    output.outbox.add(seen(now - 2))
    output.outbox.add(span(now - 1))
    output.outbox.add(Sample(Series("memory"), now, 1.0))
    output.outbox.add_errors(3)
    assert await output.flusher.flush()
    assert await read("SELECT spans, errors FROM extent") == [(1, 3)]
    assert output.published[0].extent.tasks == 1
    assert output.counters.rows == {"span": 1, "sample": 1, "event": 0, "worker": 1}
    assert output.counters.as_json()["lag"]["count"] == 1


async def test_records_added_while_a_batch_is_written_wait_for_the_next_one(output: Output) -> None:
    """Otherwise a steady stream would be written record by record."""
    now = time.time()
    output.outbox.add(span(now - 3))
    written = output.thread.writer.write

    def busy(batch: Batch) -> Committed:
        output.outbox.add(span(now - 2))
        output.outbox.add(span(now - 1))
        return written(batch)

    output.thread.writer.write = busy  # type: ignore[method-assign]
    for stored in (1, 3):
        assert await output.flusher.flush()
        assert await read("SELECT spans FROM extent") == [(stored,)]
    assert len(output.published) == 2


async def test_a_batch_that_is_written_while_its_target_stops_is_stored_once(output: Output) -> None:
    written = output.thread.writer.write
    begun, may_end = threading.Event(), threading.Event()

    def slow(batch: Batch) -> Committed:
        begun.set()
        assert may_end.wait(60)
        return written(batch)

    output.thread.writer.write = slow  # type: ignore[method-assign]
    output.outbox.add(span(time.time() - 3))
    running = asyncio.create_task(output.flusher.run())
    await eventually(lambda: asyncio.sleep(0, begun.is_set()))
    running.cancel()
    await asyncio.wait([running])
    last = asyncio.create_task(output.flusher.flush())
    await asyncio.sleep(0)
    may_end.set()
    assert await last
    assert await read("SELECT spans, sequence FROM extent") == [(1, 1)]
    assert len(output.published) == 1


async def test_records_wait_while_the_database_is_away_and_are_stored_once_when_it_is_back(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    there = settings.DATABASES["default"]
    away = {**there, "HOST": "/nowhere", "OPTIONS": {}}
    monkeypatch.setitem(settings.DATABASES, "default", away)
    output.outbox.add(span(now - 3))
    assert not await output.flusher.flush()
    output.outbox.add(span(now - 2))
    assert not await output.flusher.flush()
    monkeypatch.setitem(settings.DATABASES, "default", there)
    assert await output.flusher.flush()
    assert await read("SELECT count(*) FROM span") == [(2,)]
    assert output.counters.write_failures == 2
    assert output.counters.records_dropped == 0


async def test_a_commit_whose_connection_is_killed_is_tried_again_and_stored_once(output: Output) -> None:
    now = time.time()
    output.outbox.add(span(now - 3))
    assert await output.flusher.flush()
    connection = output.thread.writer._connection
    assert isinstance(connection, psycopg.Connection)
    await read("SELECT pg_terminate_backend(%s)", connection.info.backend_pid)
    output.outbox.add(span(now - 2))
    while not await output.flusher.flush():
        await asyncio.sleep(0.1)
    assert await read("SELECT count(*) FROM span") == [(2,)]


def test_the_capacity_grows_with_the_cluster_up_to_a_limit(output: Output) -> None:
    assert capacity_for(0) == SMALLEST_CAPACITY
    assert SMALLEST_CAPACITY < capacity_for(100) < capacity_for(1_000) < LARGEST_CAPACITY
    assert capacity_for(1_000_000) == LARGEST_CAPACITY
    output.outbox.make_room_for(100)
    output.outbox.make_room_for(3)
    assert output.outbox.capacity == capacity_for(100)


DRAWN = Series("observatory_worker_memory_bytes", (("type", "process"),), WORKER)
UNDRAWN = Series("dask_worker_latency_seconds", (), WORKER)


def kept(outbox: Outbox) -> list[tuple[int, int, int, int]]:
    """Records of each batch: samples without and with a chart, spans, changes of workers."""
    return [
        (len(batch.undrawn), len(batch.builder.samples), len(batch.builder.spans), len(batch.builder.workers))
        for batch in outbox.batches
    ]


def test_over_the_capacity_the_least_important_records_are_dropped_and_of_those_the_oldest(
    output: Output,
) -> None:
    now = time.time()
    outbox = output.outbox
    for batch in range(2):
        outbox.open(CLUSTER)
        outbox.add(seen(now))
        outbox.add_errors(1)
        for number in range(10):
            outbox.add_sample(UNDRAWN, now + 10 * batch + number, 0)
            outbox.add_sample(DRAWN, now + 10 * batch + number, 0)
            outbox.add(span(now + number))
    outbox.batches.popleft()
    assert kept(outbox) == [(10, 10, 10, 1)] * 2
    for expected in (
        [(0, 10, 10, 1), (10, 10, 10, 1)],
        [(0, 10, 10, 1), (0, 10, 10, 1)],
        [(0, 0, 10, 1), (0, 10, 10, 1)],
        [(0, 0, 10, 1), (0, 0, 10, 1)],
        [(0, 0, 0, 1), (0, 0, 10, 1)],
    ):
        outbox.capacity = round(outbox.bytes / 0.95)
        outbox._drop()
        assert kept(outbox) == expected
    outbox.capacity = 1
    outbox._drop()
    assert kept(outbox) == [(0, 0, 0, 0)] * 2
    assert (outbox.length, outbox.bytes) == (0, 0)
    assert output.counters.records_dropped == 62
    assert [batch.builder.errors for batch in outbox.batches] == [1, 1], "erred tasks stay counted"


async def test_dropped_records_become_one_event_of_each_kind_with_bounds_count_and_reason(
    output: Output, caplog: pytest.LogCaptureFixture
) -> None:
    now = float(int(time.time()))
    output.outbox.capacity = 20 * SAMPLE_BYTES
    for number in range(100):
        output.outbox.add_sample(UNDRAWN, now - 200 + number, 0)
    for number in range(100):
        output.outbox.add_sample(DRAWN, now - 100 + number, 0)
    lost = output.counters.records_dropped
    assert lost > 150
    output.outbox.capacity = 100 * RECORD_BYTES
    assert await output.flusher.flush()
    drawn, undrawn = await dropped_events()
    assert (drawn[:4], undrawn[:4]) == (
        ("sample", lost - 100, "database-slow", now - 100),
        ("undrawn-sample", 100, "database-slow", now - 200),
    )
    assert (drawn[4], undrawn[4]) == (now - 100 + drawn[1] - 1, now - 101)
    assert [(200 - lost,)] == await read("SELECT count(*) FROM sample")
    assert f"cluster {CLUSTER}: {drawn[1]} samples were dropped: the database was too slow" in caplog.text


async def test_the_reason_of_a_drop_is_what_kept_the_records_waiting(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = settings.DATABASES["default"]
    away = {**there, "HOST": "/nowhere", "OPTIONS": {}}
    assert output.outbox.explain() == "database-slow"
    output.load.pressure = 1.5
    assert output.outbox.explain() == "collector-overloaded"
    monkeypatch.setitem(settings.DATABASES, "default", away)
    output.outbox.add(span(time.time() - 3))
    assert not await output.flusher.flush()
    assert output.outbox.explain() == "database-unavailable"
    monkeypatch.setitem(settings.DATABASES, "default", there)
    assert await output.flusher.flush()
    output.load.pressure = 0.5
    assert output.outbox.explain() == "database-slow"
    output.allowed = False
    assert output.outbox.explain() == "database-unavailable", "the lease could not be renewed"


async def test_scrapes_slow_down_with_the_wait_of_the_oldest_record_until_it_is_stored(
    output: Output,
) -> None:
    slowdown = Slowdown(output.flusher.waited)
    assert slowdown.factor == 1
    output.outbox.add(span(time.time()))
    output.outbox.batches[0].since -= 3 * CALM
    assert slowdown.factor == pytest.approx(3, abs=0.5)
    output.outbox.batches[0].since -= 100 * CALM
    assert slowdown.factor == LARGEST_FACTOR
    output.allowed = False
    assert not await output.flusher.flush()
    assert slowdown.factor == LARGEST_FACTOR
    output.allowed = True
    assert await output.flusher.flush()
    assert slowdown.factor == 1


def test_a_slowdown_that_leaves_holes_in_charts_is_recorded_when_it_ends_or_every_minute() -> None:
    waited = [CALM * factor for factor in (1, 1.9, 2, 4, 3, 1)]
    slowdown = Slowdown(lambda: waited[0])
    ended = []
    for second in range(6):
        ended.append(slowdown.ended_period(100.0 + second))
        waited = waited[1:] or waited
    assert ended[:-1] == [None] * 5
    assert (ended[-1].first, ended[-1].last, ended[-1].factor) == (102, 104, 4)
    waited = [4 * CALM]
    assert slowdown.ended_period(200) is None
    assert slowdown.ended_period(200 + LONGEST_PERIOD) is not None
    assert slowdown.ended_period(201 + LONGEST_PERIOD) is None, "the next minute"


async def test_nothing_is_written_without_the_lease(output: Output) -> None:
    output.allowed = False
    output.outbox.add(span(time.time()))
    assert not await output.flusher.flush()
    assert output.outbox.length == 1
    assert await read("SELECT count(*) FROM span") == [(0,)]


async def test_two_lifetimes_of_one_address_are_both_stored(output: Output) -> None:
    now = time.time()
    for record in (seen(now - 5), WorkerGone(WORKER, now - 3, "lost"), seen(now - 2)):
        output.outbox.add(record)
    assert await output.flusher.flush()
    assert await read("SELECT end_reason FROM worker ORDER BY started") == [("lost",), ("",)]


async def test_records_of_another_cluster_are_in_another_batch(output: Output) -> None:
    now = time.time()
    output.outbox.add(Event(now, "restarted"))
    output.outbox.open(CLUSTER + 1)
    output.outbox.add(Event(now, "restarted"))
    assert await output.flusher.flush()
    assert await read("SELECT cluster_id FROM event ORDER BY 1") == [(CLUSTER,), (CLUSTER + 1,)]
