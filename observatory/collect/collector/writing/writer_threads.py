"""Threads that write to the store: a connection each, which many targets share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.writer import Writer

MOST_THREADS = 12
"""PostgreSQL permits 100 connections in all where nobody has set more."""


class WriterThread:
    """One thread with one writer. Batches are written one after another."""

    def __init__(self) -> None:
        self.writer = Writer()
        self.executor = ThreadPoolExecutor(1, "writer")
        self.targets = 0

    async def write(self, batch: Batch) -> Committed:
        """Stores the batch, as Writer.write does."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.executor, lambda: self.writer.write(batch))

    def forget(self, clusters: Iterable[int]) -> None:
        """Blocks until all batches are written, and frees what is remembered of clusters."""
        self.executor.submit(self.writer.forget, clusters).result()

    def close(self) -> None:
        """Blocks until all batches are written, and closes the connection."""
        self.executor.shutdown(wait=True)
        self.writer.close()


class WriterThreads:
    """The threads of a collector: one for each target, up to MOST_THREADS, which then have several."""

    def __init__(self) -> None:
        self.threads: list[WriterThread] = []

    def take(self) -> WriterThread:
        """The thread for a further target."""
        if len(self.threads) < MOST_THREADS:
            self.threads.append(WriterThread())
        thread = min(self.threads, key=lambda each: each.targets)
        thread.targets += 1
        return thread

    async def release(self, thread: WriterThread, clusters: Iterable[int]) -> None:
        """Ends a target's use of a thread, when its batches are written. `clusters`: those it wrote."""
        thread.targets -= 1
        if thread.targets:
            await asyncio.to_thread(thread.forget, clusters)
        else:
            self.threads.remove(thread)
            await asyncio.to_thread(thread.close)
