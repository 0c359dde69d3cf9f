"""Writes the records of an outbox to the store, in another thread."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from observatory.collect.collector.cancellation import raise_if_cancelled
from observatory.collect.collector.load.process_load import ProcessLoad
from observatory.collect.collector.writing.outbox import Outbox, QueuedBatch
from observatory.collect.collector.writing.writer_threads import WriterThread
from observatory.collect.quarantine.folder import put
from observatory.collect.quarantine.patience import Patience
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.publishing.committed import Committed
from observatory.wire.dropped_records import DropReason

logger = logging.getLogger(__name__)

FLUSH_INTERVAL = 0.2
QUIET_INTERVAL = 1.0
"""Seconds between two batches without records, which only advance `committed`."""
LONGEST_WAIT = 5.0


class Flusher:
    """Writes an outbox to the store, and publishes committed records to live pages.

    A batch that fails waits. One that fails for minutes although the database accepts others goes into
    quarantine, so that it does not block the next ones.
    """

    def __init__(
        self,
        outbox: Outbox,
        now: Callable[[], float],
        committed_until: Callable[[], float],
        may_write: Callable[[], bool],
        publish: Callable[[int, Committed], Awaitable[None]],
        between_batches: Callable[[], float],
        sleep: Callable[[float], Awaitable[bool]],
        observing: asyncio.Event,
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
        self.between_batches = between_batches
        """Least seconds between two batches."""
        self.sleep = sleep
        """Waits for so many seconds, or until the cluster's rest ends."""
        self.observing = observing
        """Set while there is an observation, of which records come."""
        self.load = load
        self.thread = thread
        self.clusters: set[int] = set()
        """Those of which it has written batches."""
        self.writing: asyncio.Future[Committed] | None = None
        """of `unwritten`, which goes on when this flusher's task is cancelled"""
        self.unwritten: QueuedBatch | None = None
        """The batch that is being written or whose write failed; exactly this one has to be retried."""
        self.has_failed = False
        """Whether the last write failed."""
        self.patience = Patience()
        """with `unwritten`"""
        self.wrote_at = 0.0
        self.batches_written = 0

    async def run(self) -> None:
        wait = FLUSH_INTERVAL
        while True:
            await self.sleep(wait)
            if self.unwritten is None and not self.outbox.batches:
                with suppress(TimeoutError):
                    async with asyncio.timeout(QUIET_INTERVAL):
                        await self.observing.wait()
            stored = await self.flush()
            raise_if_cancelled()
            wait = self._wait() if stored else min(LONGEST_WAIT, wait * 2)

    def _wait(self) -> float:
        """Seconds until the next batch. The targets of a thread are due at the same times, as no others are.

        So their batches share transactions, and the process has as much to do at any time.
        """
        between = self.between_batches()
        if between <= FLUSH_INTERVAL:
            return FLUSH_INTERVAL
        return between - (time.monotonic() - self.thread.phase * between) % between

    async def flush(self) -> bool:
        """Writes the batches queued now. False when the write failed or the lease is not valid.

        Records added meanwhile wait for the next call; otherwise a steady stream would be written one by one.
        """
        # while nothing can be stored, what is lost stays counted, and is reported afterwards
        may_report = self.may_write() and not self.has_failed
        if may_report and (self.outbox.dropped.is_due or not self.outbox.is_crowded):
            self.outbox.report_dropped()
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

    def waited(self) -> float:
        """Seconds that the oldest record has waited to be written."""
        oldest = self.unwritten or next(iter(self.outbox.batches), None)
        return time.monotonic() - oldest.since if oldest is not None and oldest.has_records else 0.0

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

    async def _write(self, queued: QueuedBatch) -> bool:
        batch = queued.complete()
        self.clusters.add(batch.cluster)
        self.writing = self.writing or asyncio.ensure_future(self.thread.write(batch.batch))
        try:
            committed = await asyncio.shield(self.writing)
        except Exception as error:
            self.writing = None
            return await self._has_set_aside(queued, error)
        self.writing = None
        self.has_failed = False
        self.patience = Patience()
        self.wrote_at = time.monotonic()
        self.batches_written += 1
        self._count(batch.batch, committed)
        await self.publish(batch.cluster, committed)
        return True

    async def _has_set_aside(self, queued: QueuedBatch, error: Exception) -> bool:
        """Handles a failure of a batch. True if it waits no longer."""
        self.has_failed = True
        self.outbox.counters.write_failures += 1
        reason = " ".join(str(error).split())[:300]
        logger.warning("nothing can be stored; records wait: %s: %s", type(error).__name__, reason)
        if not await asyncio.to_thread(self.patience.is_over, error):
            return False
        await self._set_aside(queued, error)
        self.has_failed = False
        self.patience = Patience()
        return True

    async def _set_aside(self, queued: QueuedBatch, error: Exception) -> None:
        """Puts a batch into quarantine; drops it if that is not possible. Both are reported."""
        batch, outbox = queued.complete(), self.outbox
        outbox.dropped.add_all(queued.losses)
        if queued.losses:
            return
        try:
            await asyncio.to_thread(lambda: put(batch.batch, error))
        except Exception as problem:  # also of encoding: nothing may block the next batches
            logger.error("a batch of %d records cannot be kept: %s", len(batch), problem, exc_info=error)
            outbox.counters.records_dropped += len(batch)
            outbox.dropped.add_batch(batch, DropReason.DATABASE_REFUSED)
        else:
            outbox.counters.batches_quarantined += 1
            outbox.dropped.add_batch(batch, DropReason.QUARANTINED)

    def _count(self, batch: Batch, committed: Committed) -> None:
        counters = self.outbox.counters
        counters.records_dropped += committed.dropped.total() + batch.refused
        counters.batches_refused += bool(committed.dropped)
        for kind in ("span", "sample", "event"):
            counters.rows[kind] += batch.count(kind) - committed.dropped[kind]
        counters.rows["worker"] += len(batch.workers) - committed.dropped["worker"]
        if "span" in batch.records:
            counters.add_lag(self.now() - float(batch.records["span"].stops.min()))
