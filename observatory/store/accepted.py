"""What of a batch the tables can hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from observatory.store.tables import EVENT, SAMPLE, SPAN, TimeSeries
from observatory.store.texts import LARGEST_INTEGER, clean_name
from observatory.wire.records import Batch, Event, Sample, Span, WorkerGone, WorkerSeen, is_time

Times = npt.NDArray[np.float64]
Timed = TypeVar("Timed", Sample, Event, WorkerSeen, WorkerGone)

EARLIEST = 946_684_800.0
"""as wire.records.is_time"""
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Accepted:
    """The records of a batch whose times and numbers are reasonable, and their times (seconds) as arrays."""

    cluster: int
    committed: float
    errors: int
    workers: list[WorkerSeen]
    gone: list[WorkerGone]
    spans: list[Span]
    samples: list[Sample]
    events: list[Event]
    starts: Times
    stops: Times
    """of the spans"""
    sampled: Times
    happened: Times
    refused: int

    def days(self) -> Iterator[tuple[TimeSeries, list[date]]]:
        """The days (UTC) that each table gets records of."""
        for table, times in ((SPAN, self.starts), (SAMPLE, self.sampled), (EVENT, self.happened)):
            yield table, [datetime.fromtimestamp(day * DAY, UTC).date() for day in np.unique(times // DAY)]

    def addresses(self) -> set[str]:
        """The cleaned addresses of every worker that is mentioned."""
        found: set[str] = {worker.address for worker in self.workers}
        found.update(gone.address for gone in self.gone)
        found.update({span.worker for span in self.spans})
        found.update({sample.series.worker for sample in self.samples})
        found.update(event.worker for event in self.events)
        return {clean_name(address) for address in found}


def accept(batch: Batch, latest: float) -> Accepted:
    """Leaves out records before 2000 or after `latest` (seconds), and those with numbers beyond 64 bits."""
    spans = [
        span
        for span in batch.spans
        if EARLIEST < span.start <= span.stop < latest
        and -LARGEST_INTEGER <= span.thread <= LARGEST_INTEGER
        and 0 <= span.nbytes <= LARGEST_INTEGER
    ]
    samples, events = _in_time(batch.samples, latest), _in_time(batch.events, latest)
    workers, gone = _in_time(batch.workers, latest), _in_time(batch.gone, latest)
    return Accepted(
        cluster=batch.cluster,
        committed=batch.committed if is_time(batch.committed) and batch.committed < latest else 0.0,
        errors=batch.errors,
        workers=workers,
        gone=gone,
        spans=spans,
        samples=samples,
        events=events,
        starts=_array(span.start for span in spans),
        stops=_array(span.stop for span in spans),
        sampled=_array(sample.time for sample in samples),
        happened=_array(event.time for event in events),
        refused=len(batch) - len(spans) - len(samples) - len(events) - len(workers) - len(gone),
    )


def _in_time(records: Collection[Timed], latest: float) -> list[Timed]:
    return [record for record in records if EARLIEST < record.time < latest]


def _array(numbers: Iterable[float]) -> Times:
    return np.fromiter(numbers, np.float64)
