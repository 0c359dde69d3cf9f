"""The queue of records that wait for the store.

Its capacity is memory, more for a larger cluster. What exceeds it is dropped: samples that no chart draws
first, then other samples, then spans, then the rest; of each the oldest first. Drops become events
(dropped.py).
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from enum import IntEnum

from observatory.collect.collector.counters import Counters
from observatory.collect.collector.writing.dropped import Dropped, Losses, events_of, times_of
from observatory.store.ingest.batches.batch import BatchBuilder, Record
from observatory.store.ingest.batches.growing_columns import SampleColumns
from observatory.store.ingest.source_limits import SourceLimit
from observatory.wire.dropped_records import UNDRAWN_SAMPLE, DropReason
from observatory.wire.layers import LAYER_OF_METRIC
from observatory.wire.records import Sample, Series, Span, WorkerGone, WorkerSeen

SMALLEST_CAPACITY = 64 << 20
CAPACITY_PER_WORKER = 256 << 10
LARGEST_CAPACITY = 512 << 20
"""Bytes. At the usual intervals a worker has 13 samples a second, so its share lasts for four minutes."""
SAMPLE_BYTES = 80
SPAN_BYTES = 350
RECORD_BYTES = 1_000
"""Estimated memory of a sample, of a span without its key, and of any other record."""
REMAINING = 0.9
"""Share of the capacity that remains in use after a drop."""
LARGEST_BATCH = 20_000


def capacity_for(workers: int) -> int:
    """The capacity in bytes of the outbox of a cluster with so many workers."""
    return min(LARGEST_CAPACITY, SMALLEST_CAPACITY + workers * CAPACITY_PER_WORKER)


class Part(IntEnum):
    """The parts of a batch, in the order in which they are dropped."""

    UNDRAWN_SAMPLES = 0
    SAMPLES = 1
    SPANS = 2
    REST = 3


class QueuedBatch:
    """A batch that records are added to until it is taken."""

    def __init__(self, cluster: int, committed: float = 0.0) -> None:
        self.builder = BatchBuilder(cluster, committed, limit=SourceLimit(f"cluster {cluster}"))
        self.undrawn = SampleColumns()
        """Samples of workers' metrics that no chart draws."""
        self.bytes: Counter[Part] = Counter()
        """Estimated memory."""
        self.added = 0
        """Records that were ever added."""
        self.since = time.monotonic()
        self.losses: Losses = {}
        """What a report tells: it is never dropped itself."""

    def __len__(self) -> int:
        return len(self.builder) + len(self.undrawn)

    @property
    def has_records(self) -> bool:
        """Asked many times a second, by each target: counting them takes longer."""
        return any(self.bytes.values())

    def complete(self) -> BatchBuilder:
        """The batch with all its samples."""
        self.builder.samples.extend(self.undrawn)
        self.undrawn = SampleColumns()
        return self.builder

    def clear(self, part: Part) -> dict[str, list[float]]:
        """Removes the records of a part; returns their times by kind."""
        del self.bytes[part]
        if part is Part.UNDRAWN_SAMPLES:
            times = self.undrawn.times
            self.undrawn = SampleColumns()
            return {UNDRAWN_SAMPLE: times}
        found = times_of(self.builder)
        if part is Part.SAMPLES:
            self.builder.samples.clear()
            return {"sample": found["sample"]}
        if part is Part.SPANS:
            self.builder.spans.clear()
            return {"span": found["span"]}
        for records in (self.builder.events, self.builder.workers, self.builder.gone, self.builder.runs):
            records.clear()
        return {"event": found["event"], "worker": found["worker"]}


class Outbox:
    """The queue of one target. Not thread-safe."""

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.capacity = SMALLEST_CAPACITY
        """Bytes."""
        self.cluster: int | None = None
        self.batches: deque[QueuedBatch] = deque()
        self.length = 0
        """Records."""
        self.bytes = 0
        self.dropped = Dropped()
        self.explain: Callable[[], DropReason] = lambda: DropReason.DATABASE_SLOW
        """Why records wait now."""
        self.gone: set[str] = set()
        """Addresses of the workers whose end is in the newest batch."""

    def open(self, cluster: int) -> None:
        """Starts a batch: records added from now on belong to this cluster."""
        self.cluster = cluster
        self._next()

    def close(self) -> None:
        """Ignores records that are added from now on."""
        self.cluster = None

    def make_room_for(self, workers: int) -> None:
        """Raises the capacity to that of a cluster with so many workers."""
        self.capacity = max(self.capacity, capacity_for(workers))

    @property
    def is_crowded(self) -> bool:
        """Whether over half of the capacity is in use."""
        return 2 * self.bytes > self.capacity

    def _next(self) -> None:
        if self.cluster is not None:
            self.batches.append(QueuedBatch(self.cluster))
            self.gone.clear()

    def add(self, record: Record) -> None:
        """Adds a record to the newest batch; drops what exceeds the capacity."""
        if self.cluster is None:
            return
        if isinstance(record, Sample):
            self.add_sample(record.series, record.time, record.value)
            return
        if isinstance(record, WorkerSeen) and record.address in self.gone:
            # a batch cannot end one lifetime of an address and start the next
            self._next()
        batch = self._newest()
        batch.builder.add(record)
        if isinstance(record, WorkerGone):
            self.gone.add(record.address)
        if isinstance(record, Span):
            self._count_added(batch, Part.SPANS, SPAN_BYTES + len(record.key))
        else:
            self._count_added(batch, Part.REST, RECORD_BYTES)

    def add_sample(self, series: Series, time: float, value: float) -> None:
        """Adds a sample, as `add` does."""
        if self.cluster is None:
            return
        batch = self._newest()
        if series.worker and series.metric not in LAYER_OF_METRIC:
            batch.undrawn.add(series, time, value)
            self._count_added(batch, Part.UNDRAWN_SAMPLES, SAMPLE_BYTES)
        else:
            batch.builder.samples.add(series, time, value)
            self._count_added(batch, Part.SAMPLES, SAMPLE_BYTES)

    def _newest(self) -> QueuedBatch:
        if not self.batches or self.batches[-1].added >= LARGEST_BATCH:
            self._next()
        return self.batches[-1]

    def _count_added(self, batch: QueuedBatch, part: Part, size: int) -> None:
        self.length += 1
        self.bytes += size
        batch.added += 1
        batch.bytes[part] += size
        if self.bytes > self.capacity:
            self._drop()

    def add_errors(self, count: int) -> None:
        """Adds a number of erred tasks to the newest batch."""
        if self.cluster is not None:
            if not self.batches:
                self._next()
            self.batches[-1].builder.errors += count

    def take(self, committed: float) -> QueuedBatch | None:
        """Takes out the oldest batch. The newest is given `committed`: all records before it were added."""
        if not self.batches:
            if self.cluster is None or not committed:
                return None
            return QueuedBatch(self.cluster, committed)
        batch = self.batches.popleft()
        self.length -= len(batch)
        self.bytes -= batch.bytes.total()
        if not self.batches:
            self.gone.clear()
            if batch.builder.cluster == self.cluster:
                batch.builder.committed = committed
        return batch

    def report_dropped(self) -> None:
        """Adds an event for what was dropped. It is written first."""
        for cluster, losses in self.dropped.take().items():
            report = QueuedBatch(cluster)
            report.losses = losses
            for event in events_of(losses):
                report.builder.add(event)
                report.bytes[Part.REST] += RECORD_BYTES
            self.length += len(report)
            self.bytes += report.bytes.total()
            self.batches.appendleft(report)

    def _drop(self) -> None:
        """Drops the least important records, and of those the oldest, until there is room again."""
        for part in Part:
            for batch in self.batches:
                if self.bytes <= REMAINING * self.capacity:
                    return
                if batch.bytes[part] and not batch.losses:
                    self._drop_part(batch, part)

    def _drop_part(self, batch: QueuedBatch, part: Part) -> None:
        self.bytes -= batch.bytes[part]
        length = len(batch)
        for kind, times in batch.clear(part).items():
            if times:
                self.dropped.add(batch.builder.cluster, kind, self.explain(), times)
        self.length -= length - len(batch)
        self.counters.records_dropped += length - len(batch)
