"""Records on their way into the store: a bounded queue in memory and the thread that writes it.

While the database is away records are kept up to CAPACITY; beyond it the oldest samples go first, then the
oldest spans, and what goes is counted. A batch that the database refuses for its data is dropped, so that it
doesn't block all that follow.
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
from observatory.store.ingest.committed import Committed
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Batch, Event, Sample, Span, WorkerGone, WorkerSeen

logger = logging.getLogger(__name__)

CAPACITY = 200_000
LARGEST_BATCH = 20_000
FLUSH_INTERVAL = 0.2
QUIET_INTERVAL = 1.0
"""seconds between two batches that say only how far everything is stored"""
LONGEST_WAIT = 5.0

Record = Span | Sample | Event | WorkerSeen | WorkerGone


class Outbox:
    """The queue of one target. For one thread."""

    def __init__(self, counters: Counters, capacity: int = CAPACITY) -> None:
        self.counters = counters
        self.capacity = capacity
        self.cluster: int | None = None
        self.batches: deque[Batch] = deque()
        self.length = 0
        self.gone: set[str] = set()
        """addresses of workers whose end is in the newest batch"""

    def open(self, cluster: int) -> None:
        """What is added from now on is of this cluster."""
        self.cluster = cluster
        self._next()

    def close(self) -> None:
        self.cluster = None

    def _next(self) -> None:
        if self.cluster is not None:
            self.batches.append(Batch(self.cluster))
            self.gone.clear()

    def add(self, record: Record) -> None:
        if self.cluster is None:
            return
        if not self.batches or len(self.batches[-1]) >= LARGEST_BATCH:
            self._next()
        if isinstance(record, WorkerSeen) and record.address in self.gone:
            # the address starts another lifetime, which can't be in the batch that ends one
            self._next()
        self._append(self.batches[-1], record)
        self.length += 1
        if self.length > self.capacity:
            self._make_room()

    def _append(self, batch: Batch, record: Record) -> None:
        if isinstance(record, Span):
            batch.spans.append(record)
        elif isinstance(record, Sample):
            batch.samples.append(record)
        elif isinstance(record, Event):
            batch.events.append(record)
        elif isinstance(record, WorkerSeen):
            batch.workers.append(record)
        else:
            batch.gone.append(record)
            self.gone.add(record.address)

    def erred(self, count: int) -> None:
        """Counts tasks that erred into the newest batch."""
        if self.cluster is not None:
            if not self.batches:
                self._next()
            self.batches[-1].errors += count

    def take(self, committed: float) -> Batch | None:
        """The oldest batch; `committed` goes with the newest: all before it is in what was added."""
        if not self.batches:
            if self.cluster is None or not committed:
                return None
            return Batch(self.cluster, committed=committed)
        batch = self.batches.popleft()
        self.length -= len(batch)
        if not self.batches:
            self.gone.clear()
            if batch.cluster == self.cluster:
                batch.committed = committed
        return batch

    def _make_room(self) -> None:
        """Drops the oldest samples; where there are none, the oldest spans; else the oldest batch."""
        for kind in ("samples", "spans"):
            for batch in self.batches:
                records = getattr(batch, kind)
                if records:
                    self._dropped(len(records))
                    records.clear()
                    return
        self._dropped(len(self.batches.popleft()))

    def _dropped(self, count: int) -> None:
        self.length -= count
        self.counters.records_dropped += count
        logger.error("%d records were dropped: the database has been away for too long", count)


class Flusher:
    """Writes an outbox into the store, in a thread of its own, and publishes what was committed."""

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
        """the scheduler's clock"""
        self.committed_until = committed_until
        self.may_write = may_write
        self.publish = publish
        self.writer = Writer()
        self.thread = ThreadPoolExecutor(1, "writer")
        self.unwritten: Batch | None = None
        """a batch that the database didn't take yet: the very same has to be tried again"""
        self.wrote_at = 0.0

    async def run(self) -> None:
        wait = FLUSH_INTERVAL
        while True:
            await asyncio.sleep(wait)
            stored = await self.flush()
            raise_if_cancelled()
            wait = FLUSH_INTERVAL if stored else min(LONGEST_WAIT, wait * 2)

    async def flush(self) -> bool:
        """Writes what is there now. False when the database didn't take it, or we may not write now.

        What comes meanwhile waits for the next time: a steady stream would be written record by record.
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

    def _take(self) -> Batch | None:
        batch = self.outbox.take(self.committed_until())
        quiet = batch is not None and not len(batch) and not batch.errors
        if quiet and time.monotonic() - self.wrote_at < QUIET_INTERVAL:
            return None
        return batch

    async def _write(self, batch: Batch) -> bool:
        counters = self.outbox.counters
        try:
            loop = asyncio.get_running_loop()
            committed = await loop.run_in_executor(self.thread, self.writer.write, batch)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            # class 54 is a limit that the batch's data exceeds, for ever
            if not (error.sqlstate or "").startswith("54"):
                counters.write_failures += 1
                logger.warning("the database doesn't take records now: %s", str(error).strip()[:300])
                return False
            self._refused(batch, error)
            return True
        except Exception as error:
            self._refused(batch, error)
            return True
        self.wrote_at = time.monotonic()
        self._count(batch)
        await self.publish(batch.cluster, committed)
        return True

    def _refused(self, batch: Batch, error: Exception) -> None:
        self.outbox.counters.batches_refused += 1
        logger.error("a batch of %d records was refused and is dropped", len(batch), exc_info=error)

    def _count(self, batch: Batch) -> None:
        rows = self.outbox.counters.rows
        rows["span"] += len(batch.spans)
        rows["sample"] += len(batch.samples)
        rows["event"] += len(batch.events)
        rows["worker"] += len(batch.workers)
        if batch.spans:
            self.outbox.counters.lagged(self.now() - min(span.stop for span in batch.spans))

    def close(self) -> None:
        """Waits for the batch that is being written."""
        self.thread.shutdown(wait=True)
        self.writer.close()
