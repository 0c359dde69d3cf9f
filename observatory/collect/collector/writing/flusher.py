"""Writes the records of an outbox to the store, in another thread."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import psycopg

from observatory.collect.collector.cancellation import raise_if_cancelled
from observatory.collect.collector.process_load import ProcessLoad
from observatory.collect.collector.writing.outbox import Outbox, QueuedBatch
from observatory.collect.collector.writing.writer_threads import WriterThread
from observatory.store.ingest.batches.batch import Batch, BatchBuilder
from observatory.store.ingest.publishing.committed import Committed
from observatory.wire.dropped_records import DropReason

logger = logging.getLogger(__name__)

FLUSH_INTERVAL = 0.2
QUIET_INTERVAL = 1.0
"""Seconds between two batches without records, which only advance `committed`."""
LONGEST_WAIT = 5.0


class Flusher:
    """Writes an outbox to the store, and publishes committed records to live pages.

    A batch that the database refuses because of its data is dropped, so that it does not block the next ones.
    """

    def __init__(
        self,
        outbox: Outbox,
        now: Callable[[], float],
        committed_until: Callable[[], float],
        may_write: Callable[[], bool],
        publish: Callable[[int, Committed], Awaitable[None]],
        load: ProcessLoad,
        thread: WriterThread,
    ) -> None:
        self.outbox = outbox
        outbox.explain = self.explain
        self.now = now
        """The time on the scheduler's clock."""
        self.committed_until = committed_until
        self.may_write = may_write
        self.publish = publish
        self.load = load
        self.thread = thread
        self.clusters: set[int] = set()
        """Those of which it has written batches."""
        self.unwritten: QueuedBatch | None = None
        """The batch that is being written or whose write failed; exactly this one has to be retried."""
        self.has_failed = False
        """Whether the database was unavailable at the last write."""
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
        if self.outbox.dropped.is_due or not self.outbox.is_crowded:
            self.outbox.report_dropped()
        for _ in range(max(1, len(self.outbox.batches) + (self.unwritten is not None))):
            if not self.may_write():
                return False
            batch = self.unwritten or self._take()
            if batch is None:
                return True
            self.unwritten = batch
            if not await self._write(batch.complete()):
                return False
            self.unwritten = None
        return True

    def waited(self) -> float:
        """Seconds that the oldest record has waited to be written."""
        oldest = self.unwritten or next(iter(self.outbox.batches), None)
        return time.monotonic() - oldest.since if oldest is not None and len(oldest) else 0.0

    def explain(self) -> DropReason:
        """Why records wait now."""
        if self.has_failed:
            return DropReason.DATABASE_UNAVAILABLE
        if self.load.is_high:
            return DropReason.COLLECTOR_OVERLOADED
        return DropReason.DATABASE_SLOW if self.may_write() else DropReason.DATABASE_UNAVAILABLE

    def _take(self) -> QueuedBatch | None:
        batch = self.outbox.take(self.committed_until())
        is_empty = batch is not None and not len(batch) and not batch.builder.errors
        if is_empty and time.monotonic() - self.wrote_at < QUIET_INTERVAL:
            return None
        return batch

    async def _write(self, batch: BatchBuilder) -> bool:
        counters = self.outbox.counters
        self.clusters.add(batch.cluster)
        try:
            committed = await self.thread.write(batch.batch)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            # SQLSTATE class 54: the data exceeds a limit of the database, so a retry would fail too
            if not (error.sqlstate or "").startswith("54"):
                self.has_failed = True
                counters.write_failures += 1
                logger.warning("the database is unavailable; records wait: %s", str(error).strip()[:300])
                return False
            self._drop_refused(batch, error)
            return True
        except Exception as error:
            self._drop_refused(batch, error)
            return True
        self.has_failed = False
        self.wrote_at = time.monotonic()
        self._count(batch.batch)
        await self.publish(batch.cluster, committed)
        return True

    def _drop_refused(self, batch: BatchBuilder, error: Exception) -> None:
        self.outbox.counters.batches_refused += 1
        self.outbox.dropped.add_batch(batch, DropReason.DATABASE_REFUSED)
        logger.error("dropped a batch of %d records that the database refused", len(batch), exc_info=error)

    def _count(self, batch: Batch) -> None:
        rows = self.outbox.counters.rows
        for kind in ("span", "sample", "event"):
            rows[kind] += batch.count(kind)
        rows["worker"] += len(batch.workers)
        if "span" in batch.records:
            self.outbox.counters.add_lag(self.now() - float(batch.records["span"].stops.min()))
