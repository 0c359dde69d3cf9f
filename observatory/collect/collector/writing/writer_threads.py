"""Threads that write to the store: a connection each, which many targets share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from observatory.base.environment import CONNECTION_IDLE
from observatory.collect.collector.coalesced_calls import CoalescedCalls
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.joint_writer import JointWriter
from observatory.store.ingest.publishing.committed import Committed

MOST_THREADS = 4
"""One that waits for a lock delays the targets of its thread, and the fewer threads there are, the more
batches share a transaction. PostgreSQL permits 100 connections in all where nobody has set more."""
LARGEST_TRANSACTION = 20_000
"""Records."""
LINGER = 0.01
"""Seconds that a batch waits for those that are due at the same time."""


class WriterThread:
    """One thread with one writer. Batches that come while others are written share a transaction."""

    def __init__(self, phase: float = 0.0) -> None:
        self.phase = phase
        """The part of the time between two batches after which those of its targets are due."""
        self.writer = JointWriter()
        self.executor = ThreadPoolExecutor(1, "writer")
        self.targets = 0
        self._closing: asyncio.TimerHandle | None = None
        self.write: CoalescedCalls[Batch, Committed] = CoalescedCalls(self._write, lambda: LINGER)
        """Stores a batch, as Writer.write does."""

    async def _write(self, batches: list[Batch]) -> list[Committed | Exception]:
        """Stores batches. The connection is closed when nothing came for a while."""
        loop = asyncio.get_running_loop()
        self.keep_connection()
        results: list[Committed | Exception] = []
        for some in transactions(batches):
            results += await loop.run_in_executor(self.executor, self.writer.write_together, some)
        self._closing = loop.call_later(CONNECTION_IDLE, self.executor.submit, self.writer.close)
        return results

    def keep_connection(self) -> None:
        """Ends the wait for the time at which the connection is closed."""
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None

    def forget(self, clusters: Iterable[int]) -> None:
        """Blocks until all batches are written, and frees what is remembered of clusters."""
        self.executor.submit(self.writer.forget, clusters).result()

    def close(self) -> None:
        """Blocks until all batches are written, and closes the connection."""
        self.executor.shutdown(wait=True)
        self.writer.close()


def transactions(batches: Iterable[Batch]) -> Iterator[list[Batch]]:
    """The batches of each transaction, in order: of different clusters, and not too many records."""
    some: list[Batch] = []
    for batch in batches:
        records = len(batch) + sum(map(len, some))
        if some and (records > LARGEST_TRANSACTION or batch.cluster in {each.cluster for each in some}):
            yield some
            some = []
        some.append(batch)
    if some:
        yield some


class WriterThreads:
    """The threads of a collector: one for each target, up to MOST_THREADS, which then have several."""

    def __init__(self) -> None:
        self.threads: list[WriterThread] = []

    def take(self) -> WriterThread:
        """The thread for a further target."""
        if len(self.threads) < MOST_THREADS:
            phases = {place / MOST_THREADS for place in range(MOST_THREADS)}
            self.threads.append(WriterThread(min(phases - {thread.phase for thread in self.threads})))
        thread = min(self.threads, key=lambda each: each.targets)
        thread.targets += 1
        return thread

    async def release(self, thread: WriterThread, clusters: Iterable[int]) -> None:
        """Ends a target's use of a thread, when its batches are written. `clusters`: those it wrote."""
        thread.targets -= 1
        await thread.write.wait()
        if thread.targets:
            await asyncio.to_thread(thread.forget, clusters)
        else:
            self.threads.remove(thread)
            thread.keep_connection()
            await asyncio.to_thread(thread.close)
