"""Records wait for the database within a limit, and refused batches do not block others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings

from observatory.collect.collector.counters import Counters
from observatory.collect.collector.outbox import Flusher, Outbox
from observatory.store.ingest.batch import Batch
from observatory.store.ingest.committed import Committed
from observatory.wire.records import Action, Event, Sample, Series, Span, WorkerGone, WorkerSeen
from tests.collect.observer import read

pytestmark = pytest.mark.usefixtures("store")

CLUSTER = 4711
WORKER = "tcp://127.0.0.1:1"


def span(start: float, nbytes: int = 1) -> Span:
    return Span(WORKER, 1, f"inc-{start}", "inc", "inc", Action.COMPUTE, start, start + 0.5, nbytes)


def seen(moment: float) -> WorkerSeen:
    return WorkerSeen(WORKER, "w", "127.0.0.1", 1, 0, moment)


class Output:
    """An outbox and its flusher on the test's database."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.outbox = Outbox(self.counters)
        self.outbox.open(CLUSTER)
        self.published: list[Committed] = []
        self.allowed = True
        self.flusher = Flusher(self.outbox, time.time, time.time, lambda: self.allowed, self.publish)

    async def publish(self, cluster: int, committed: Committed) -> None:
        self.published.append(committed)


@pytest.fixture
def output() -> Iterator[Output]:
    made = Output()
    yield made
    made.flusher.close()


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
    written = output.flusher.writer.write

    def busy(batch: Batch) -> Committed:
        output.outbox.add(span(now - 2))
        output.outbox.add(span(now - 1))
        return written(batch)

    output.flusher.writer.write = busy  # type: ignore[method-assign]
    for stored in (1, 3):
        assert await output.flusher.flush()
        assert await read("SELECT spans FROM extent") == [(stored,)]
    assert len(output.published) == 2


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
    connection = output.flusher.writer._connection
    assert isinstance(connection, psycopg.Connection)
    await read("SELECT pg_terminate_backend(%s)", connection.info.backend_pid)
    output.outbox.add(span(now - 2))
    while not await output.flusher.flush():
        await asyncio.sleep(0.1)
    assert await read("SELECT count(*) FROM span") == [(2,)]


def test_over_the_capacity_the_oldest_samples_are_dropped_first_then_spans(output: Output) -> None:
    now = time.time()
    outbox = output.outbox
    outbox.capacity = 30
    outbox.add(seen(now))
    for number in range(10):
        outbox.add(Sample(Series("a"), now + number, 0))
        outbox.add(span(now + number))
    outbox.open(CLUSTER)
    for number in range(9):
        outbox.add(Sample(Series("a"), now + 20 + number, 0))
    assert outbox.length == 30
    outbox.add(span(now))
    assert output.counters.records_dropped == 10
    assert [len(batch.samples) for batch in outbox.batches] == [0, 9]
    for _ in range(10):
        outbox.add(span(now))
    assert [len(batch.samples) for batch in outbox.batches] == [0, 0]
    for _ in range(20):
        outbox.add(span(now))
    assert len(outbox.batches[0].spans) == 0
    assert outbox.batches[0].workers
    assert outbox.length == sum(len(batch) for batch in outbox.batches) <= 30


async def test_a_batch_that_the_database_refuses_is_dropped_and_the_next_is_stored(
    output: Output, caplog: pytest.LogCaptureFixture
) -> None:
    now = time.time()
    broken = span(now - 3)
    object.__setattr__(broken, "nbytes", "many")
    output.outbox.add(broken)
    output.outbox.open(CLUSTER)
    output.outbox.add(span(now - 2))
    assert await output.flusher.flush()
    assert output.counters.batches_refused == 1
    assert await read("SELECT count(*) FROM span") == [(1,)]
    assert "refused" in caplog.text


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
