"""The queue of records waiting for the store, and the thread that writes them.

While the database is unavailable up to CAPACITY records are kept. Over it the oldest samples are dropped
first, then the oldest spans; drops are counted. A batch that the database refuses because of its data is
dropped, so that it does not block the next ones.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg

from observatory.collect.collector.cancellation import raise_if_cancelled
from observatory.collect.collector.counters import Counters
from observatory.store.ingest.batch import Batch, BatchBuilder, Record
from observatory.store.ingest.committed import Committed
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Series, WorkerGone, WorkerSeen

logger = logging.getLogger(__name__)

CAPACITY = 200_000
"""Records."""
LARGEST_BATCH = 20_000
FLUSH_INTERVAL = 0.2
QUIET_INTERVAL = 1.0
"""Seconds between two batches without records, which only advance `committed`."""
LONGEST_WAIT = 5.0


class Outbox:
    """The queue of one target. Not thread-safe."""

    def __init__(self, counters: Counters, capacity: int = CAPACITY) -> None:
        self.counters = counters
        self.capacity = capacity
        self.cluster: int | None = None
        self.batches: deque[BatchBuilder] = deque()
        self.length = 0
        self.gone: set[str] = set()
        """Addresses of the workers whose end is in the newest batch."""

    def open(self, cluster: int) -> None:
        """Starts a batch: records added from now on belong to this cluster."""
        self.cluster = cluster
        self._next()

    def close(self) -> None:
        """Ignores records that are added from now on."""
        self.cluster = None

    def _next(self) -> None:
        if self.cluster is not None:
            self.batches.append(BatchBuilder(self.cluster))
            self.gone.clear()

    def add(self, record: Record) -> None:
        """Adds a record to the newest batch; drops records over the capacity."""
        if self.cluster is None:
            return
        if isinstance(record, WorkerSeen) and record.address in self.gone:
            # a batch cannot end one lifetime of an address and start the next
            self._next()
        self._newest().add(record)
        if isinstance(record, WorkerGone):
            self.gone.add(record.address)
        self._count_added()

    def add_sample(self, series: Series, time: float, value: float) -> None:
        """Adds a sample, as `add` does."""
        if self.cluster is not None:
            self._newest().samples.add(series, time, value)
            self._count_added()

    def _newest(self) -> BatchBuilder:
        if not self.batches or len(self.batches[-1]) >= LARGEST_BATCH:
            self._next()
        return self.batches[-1]

    def _count_added(self) -> None:
        self.length += 1
        if self.length > self.capacity:
            self._drop_oldest()

    def add_errors(self, count: int) -> None:
        """Adds a number of erred tasks to the newest batch."""
        if self.cluster is not None:
            if not self.batches:
                self._next()
            self.batches[-1].errors += count

    def take(self, committed: float) -> BatchBuilder | None:
        """Takes out the oldest batch. The newest is given `committed`: all records before it were added."""
        if not self.batches:
            if self.cluster is None or not committed:
                return None
            return BatchBuilder(self.cluster, committed)
        batch = self.batches.popleft()
        self.length -= len(batch)
        if not self.batches:
            self.gone.clear()
            if batch.cluster == self.cluster:
                batch.committed = committed
        return batch

    def _drop_oldest(self) -> None:
        """Drops the oldest samples; without samples the oldest spans; without spans the oldest batch."""
        for kind in ("samples", "spans"):
            for batch in self.batches:
                records = getattr(batch, kind)
                if records:
                    self._count_dropped(len(records))
                    records.clear()
                    return
        self._count_dropped(len(self.batches.popleft()))

    def _count_dropped(self, count: int) -> None:
        self.length -= count
        self.counters.records_dropped += count
        logger.error("dropped %d records: the queue for the database is full", count)


class Flusher:
    """Writes an outbox to the store in its own thread, and publishes committed records to live pages."""

    def __init__(
        self,
        outbox: Outbox,
        now: Callable[[], float],
        committed_until: Callable[[], float],
        may_write: Callable[[], bool],
        publish: Callable[[int, Committed], Awaitable[None]],
    ) -> None:
        self.outbox = outbox
        self.now = now
        """The time on the scheduler's clock."""
        self.committed_until = committed_until
        self.may_write = may_write
        self.publish = publish
        self.writer = Writer()
        self.thread = ThreadPoolExecutor(1, "writer")
        self.unwritten: BatchBuilder | None = None
        """The batch whose write failed; exactly this one has to be retried."""
        self.wrote_at = 0.0

    async def run(self) -> None:
        wait = FLUSH_INTERVAL
        while True:
            await asyncio.sleep(wait)
            stored = await self.flush()
            raise_if_cancelled()
            wait = FLUSH_INTERVAL if stored else min(LONGEST_WAIT, wait * 2)

    async def flush(self) -> bool:
        """Writes the batches queued now. False when the write failed or the lease is not valid.

        Records added meanwhile wait for the next call; otherwise a steady stream would be written one by one.
        """
        for _ in range(max(1, len(self.outbox.batches) + (self.unwritten is not None))):
            if not self.may_write():
                return False
            batch = self.unwritten or self._take()
            if batch is None:
                return True
            self.unwritten = batch
            if not await self._write(batch):
                return False
            self.unwritten = None
        return True

    def _take(self) -> BatchBuilder | None:
        batch = self.outbox.take(self.committed_until())
        is_empty = batch is not None and not len(batch) and not batch.errors
        if is_empty and time.monotonic() - self.wrote_at < QUIET_INTERVAL:
            return None
        return batch

    async def _write(self, batch: BatchBuilder) -> bool:
        counters = self.outbox.counters
        try:
            loop = asyncio.get_running_loop()
            committed = await loop.run_in_executor(self.thread, lambda: self.writer.write(batch.batch))
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            # SQLSTATE class 54: the data exceeds a limit of the database, so a retry would fail too
            if not (error.sqlstate or "").startswith("54"):
                counters.write_failures += 1
                logger.warning("the database is unavailable; records wait: %s", str(error).strip()[:300])
                return False
            self._count_refused(batch, error)
            return True
        except Exception as error:
            self._count_refused(batch, error)
            return True
        self.wrote_at = time.monotonic()
        self._count(batch.batch)
        await self.publish(batch.cluster, committed)
        return True

    def _count_refused(self, batch: BatchBuilder, error: Exception) -> None:
        self.outbox.counters.batches_refused += 1
        logger.error("dropped a batch of %d records that the database refused", len(batch), exc_info=error)

    def _count(self, batch: Batch) -> None:
        rows = self.outbox.counters.rows
        for kind in ("span", "sample", "event"):
            rows[kind] += batch.count(kind)
        rows["worker"] += len(batch.workers)
        if "span" in batch.records:
            self.outbox.counters.add_lag(self.now() - float(batch.records["span"].stops.min()))

    def close(self) -> None:
        """Waits for the current write and closes the connection."""
        self.thread.shutdown(wait=True)
        self.writer.close()
