"""Many targets share a few connections to PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from observatory.collect.collector.collector import MOST_REMEMBERED, Collector, collect
from observatory.collect.collector.writing import flusher as flusher_module
from observatory.collect.collector.writing import writer_threads
from observatory.collect.collector.writing.writer_threads import (
    LARGEST_TRANSACTION,
    LINGER,
    MOST_THREADS,
    WriterThread,
    WriterThreads,
    transactions,
)
from observatory.store.ingest.batches.batch import Batch, BatchBuilder
from observatory.store.ingest.known_clusters import KNOWN_CLUSTERS
from observatory.wire.records import Sample, Series
from tests.collect.collector.outputs import Output
from tests.collect.observer import eventually, read

pytestmark = pytest.mark.usefixtures("store")

TARGETS = 3 * MOST_THREADS
CLUSTER = 2_000_005_000
SESSIONS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s"


def batch(number: int) -> Batch:
    builder = BatchBuilder(CLUSTER + number)
    builder.add(Sample(Series("memory"), time.time() - 1, 1.0))
    return builder.batch


async def sessions() -> set[int]:
    """PostgreSQL's processes for the connections of the store. They end a moment after their connection."""
    return {pid for (pid,) in await read(SESSIONS, "observatory")}


@pytest.mark.usefixtures("new_connections")
async def test_many_targets_have_few_connections_which_end_with_the_last_target() -> None:
    before = await sessions()
    writers = WriterThreads()
    threads = [writers.take() for _ in range(TARGETS)]
    await asyncio.gather(*(thread.write(batch(number)) for number, thread in enumerate(threads)))
    assert await read("SELECT count(*) FROM sample") == [(TARGETS,)]
    opened = await sessions() - before
    assert len(opened) == MOST_THREADS
    assert {thread.targets for thread in threads} == {3}
    for thread in threads:
        await writers.release(thread, ())
    assert not writers.threads

    async def have_ended() -> bool:
        return not opened & await sessions()

    await eventually(have_ended, what="the end of the connections")


async def test_a_target_that_is_released_waits_for_its_batches() -> None:
    writers = WriterThreads()
    threads = [writers.take() for _ in range(TARGETS)]
    may_write = threading.Event()
    stored: list[int] = []
    thread = threads[0]

    def slow(written: Batch) -> None:
        may_write.wait(60)
        stored.append(written.cluster)

    thread.writer.write = slow  # type: ignore[method-assign, assignment]
    writing = asyncio.create_task(thread.write(batch(1)))
    await asyncio.sleep(0)
    releasing = asyncio.create_task(writers.release(thread, ()))
    await asyncio.wait([releasing], timeout=0.2)
    assert not releasing.done()
    may_write.set()
    await releasing
    assert stored == [CLUSTER + 1]
    await writing
    for other in threads[1:]:
        await writers.release(other, ())


async def test_a_write_that_waits_delays_no_target_of_another_thread() -> None:
    writers = WriterThreads()
    held, other = writers.take(), writers.take()
    go_on = threading.Event()
    blocked = asyncio.get_running_loop().run_in_executor(held.executor, go_on.wait, 60)
    await other.write(batch(2))
    assert await read("SELECT count(*) FROM sample") == [(1,)]
    assert not blocked.done()
    go_on.set()
    await blocked
    for thread in (held, other):
        await writers.release(thread, ())


async def test_of_a_released_target_nothing_is_remembered() -> None:
    writers = WriterThreads()
    threads = [writers.take() for _ in range(MOST_THREADS + 1)]
    thread = threads[-1]
    for number in (1, 2):
        await thread.write(batch(number))
    await writers.release(thread, {CLUSTER + 1})
    assert KNOWN_CLUSTERS.take(CLUSTER + 1) is None
    assert KNOWN_CLUSTERS.take(CLUSTER + 2) is not None
    for other in threads[:-1]:
        await writers.release(other, ())


def test_a_new_target_gets_the_thread_of_the_fewest() -> None:
    writers = WriterThreads()
    threads: list[WriterThread] = [writers.take() for _ in range(MOST_THREADS + 1)]
    assert threads[-1] in threads[:-1]
    free = next(thread for thread in threads if thread is not threads[-1])
    free.targets -= 1
    assert writers.take() is free
    for thread in writers.threads:
        thread.close()


async def test_the_targets_of_a_thread_are_written_together_and_no_others_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand targets that were all due at once kept the process busy for a second, and idle after it."""
    output = Output()
    monkeypatch.setattr(flusher_module.time, "monotonic", lambda: 1_003.0)
    threads, due = WriterThreads(), []
    output.flusher.between_batches = lambda: 8.0
    for _ in range(MOST_THREADS):
        output.flusher.thread = threads.take()
        due.append(output.flusher._wait())
    assert sorted(due) == [1.0, 3.0, 5.0, 7.0]
    assert [threads.take().phase for _ in range(MOST_THREADS)] == [0.0, 0.25, 0.5, 0.75]


async def test_batches_that_come_while_others_are_written_share_a_transaction() -> None:
    writers = WriterThreads()
    thread = writers.take()
    go_on = threading.Event()
    thread.executor.submit(go_on.wait, 60)
    writing = [asyncio.create_task(thread.write(batch(1_000 + number))) for number in range(5)]
    await asyncio.sleep(10 * LINGER)
    writing += [asyncio.create_task(thread.write(batch(1_000 + number))) for number in range(5, 30)]
    await asyncio.sleep(0)
    go_on.set()
    committed = await asyncio.gather(*writing)
    assert [each.extent.cluster for each in committed] == [CLUSTER + 1_000 + number for number in range(30)]
    assert (await read("SELECT count(DISTINCT xmin::text) FROM extent"))[0][0] <= 2
    await writers.release(thread, ())


def test_a_transaction_has_one_batch_of_a_cluster_and_not_too_many_records() -> None:
    samples = [Sample(Series("memory"), number, 1.0) for number in range(LARGEST_TRANSACTION // 2)]
    first, second, large = batch(1), batch(2), Batch.of(CLUSTER, samples=samples)
    larger = Batch.of(CLUSTER + 3, samples=samples)
    assert list(transactions([first, second])) == [[first, second]]
    assert list(transactions([first, second, first])) == [[first, second], [first]]
    assert list(transactions([large, first, larger, second])) == [[large, first], [larger, second]]
    assert list(transactions([])) == []


def test_a_collector_remembers_more_than_one_cluster_of_a_thousand_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It writes all of its clusters in turn: with too little room each would be read again each time."""
    limits: list[int] = []

    async def run(_: Collector) -> None:
        limits.append(KNOWN_CLUSTERS.most_bytes)

    monkeypatch.setattr(Collector, "run", run)
    before = KNOWN_CLUSTERS.most_bytes
    try:
        asyncio.run(collect())
    finally:
        KNOWN_CLUSTERS.allow(before)
    assert limits == [MOST_REMEMBERED]
    assert 5 * before < MOST_REMEMBERED


@pytest.mark.usefixtures("new_connections")
async def test_a_connection_that_nobody_needs_is_closed_and_opened_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_threads, "CONNECTION_IDLE", 0.1)
    before = await sessions()
    writers = WriterThreads()
    thread = writers.take()

    async def is_closed() -> bool:
        return not await sessions() - before

    for number in range(2):
        await thread.write(batch(number))
        await eventually(is_closed, what="the end of the connection")
    assert await read("SELECT count(*) FROM sample") == [(2,)]
    await thread.write(batch(2))
    await writers.release(thread, ())
    await asyncio.sleep(0.3)
    assert await is_closed(), "the time that was waited for is over"
