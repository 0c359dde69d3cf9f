"""What of a batch the tables can hold, as columns: most of the writer's work is done a column at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from observatory.store.schema.time_series import EVENT, RECORDED, SAMPLE, SPAN, TimeSeries
from observatory.store.texts import LARGEST_INTEGER
from observatory.store.times import from_seconds
from observatory.wire.event_kinds import FROM_COLLECTOR
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS
from observatory.wire.records import (
    Batch,
    Event,
    OpenedRun,
    Sample,
    Series,
    Span,
    WorkerGone,
    WorkerSeen,
    is_time,
)

Times = npt.NDArray[np.float64]
Timed = TypeVar("Timed", Sample, Event, WorkerSeen, WorkerGone, OpenedRun)

OURS = "observatory_"
"""what the names of metrics begin with that an agent and the collector both tell"""
EARLIEST = 946_684_800.0
"""as wire.records.is_time"""
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Spans:
    """Times are seconds."""

    workers: Sequence[str]
    threads: Sequence[int]
    keys: Sequence[str]
    prefixes: Sequence[str]
    groups: Sequence[str]
    typenames: Sequence[str]
    actions: npt.NDArray[np.uint8]
    statuses: npt.NDArray[np.uint8]
    nbytes: npt.NDArray[np.int64]
    starts: Times
    stops: Times

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Samples:
    series: Sequence[Series]
    times: Times
    values: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.series)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The records of a batch whose times and numbers are reasonable."""

    cluster: int
    committed: float
    errors: int
    workers: list[WorkerSeen]
    gone: list[WorkerGone]
    spans: Spans
    samples: Samples
    events: list[Event]
    happened: Times
    """of the events"""
    rows: dict[str, list[tuple[Any, ...]]]
    """by kind"""
    runs: list[OpenedRun]
    head: Head | None
    refused: int

    def days(self) -> Iterator[tuple[TimeSeries, list[date]]]:
        """The days (UTC) that each table gets records of."""
        tables = [(SPAN, self.spans.starts), (SAMPLE, self.samples.times), (EVENT, self.happened)]
        tables += [(RECORDED[kind], self.times_of(kind)) for kind in self.rows]
        for table, times in tables:
            if len(times):
                yield table, [from_seconds(day * DAY).date() for day in _days(times)]

    def times_of(self, kind: str) -> Times:
        """Of the rows of a kind."""
        index = KINDS[kind].time_index
        return np.array([row[index] for row in self.rows.get(kind, ())], np.float64)

    def by_stock(self) -> Accepted:
        """What of a scraped batch no agent tells: what the collector alone sees, Prometheus' own metrics."""
        kept = [event for event in self.events if event.kind in FROM_COLLECTOR]
        series, times, values = self.samples.series, self.samples.times, self.samples.values
        scraped = [index for index, known in enumerate(series) if not known.metric.startswith(OURS)]
        return replace(
            self,
            workers=[],
            gone=[],
            spans=NO_SPANS,
            errors=0,
            samples=Samples([series[index] for index in scraped], times[scraped], values[scraped]),
            events=kept,
            happened=np.array([event.time for event in kept], np.float64),
        )

    def after_stock(self, since: float) -> Accepted:
        """What of an agent's batch the stock event stream, which was there before it, hasn't told."""
        spans = self.spans
        if not len(spans) or spans.stops.min() >= since:
            return self
        keep = np.flatnonzero(spans.stops >= since)

        def chosen(column: Any) -> Any:
            return column[keep] if isinstance(column, np.ndarray) else [column[index] for index in keep]

        return replace(self, spans=Spans(*(chosen(getattr(spans, found.name)) for found in fields(Spans))))


def accept(batch: Batch, latest: float) -> Accepted:
    """Leaves out records before 2000 or after `latest` (seconds), and those with numbers beyond 64 bits."""
    spans, samples = _spans(batch.spans, latest), _samples(batch.samples, latest)
    events = _in_time(batch.events, latest)
    rows = {kind: found for kind in batch.rows if (found := _rows_in_time(kind, batch.rows[kind], latest))}
    workers, gone = _in_time(batch.workers, latest), _in_time(batch.gone, latest)
    runs = _in_time(batch.runs, latest)
    return Accepted(
        cluster=batch.cluster,
        committed=batch.committed if is_time(batch.committed) and batch.committed < latest else 0.0,
        errors=max(batch.errors, 0),
        workers=workers,
        gone=gone,
        spans=spans,
        samples=samples,
        events=events,
        happened=np.array([event.time for event in events], np.float64),
        rows=rows,
        runs=runs,
        head=batch.head,
        refused=len(batch)
        - (len(spans) + len(samples) + len(events) + len(workers) + len(gone) + len(runs))
        - sum(map(len, rows.values())),
    )


def _spans(records: Sequence[Span], latest: float) -> Spans:
    if not records:
        return NO_SPANS
    try:
        found = _span_columns(records)
        # a thread is an int8 in the store
        np.array(found.threads, np.int64)
        good = (found.starts > EARLIEST) & (found.starts <= found.stops) & (found.stops < latest)
        if np.all(good & (found.nbytes >= 0)):
            return found
    except OverflowError:
        pass
    return _span_columns(
        [
            span
            for span in records
            if EARLIEST < span.start <= span.stop < latest
            and -LARGEST_INTEGER <= span.thread <= LARGEST_INTEGER
            and 0 <= span.nbytes <= LARGEST_INTEGER
        ]
    )


def _span_columns(records: Sequence[Span]) -> Spans:
    # a list of each field, as a tuple of each record would wake the garbage collector
    return Spans(
        workers=[span.worker for span in records],
        threads=[span.thread for span in records],
        keys=[span.key for span in records],
        prefixes=[span.prefix for span in records],
        groups=[span.group for span in records],
        typenames=[span.typename for span in records],
        actions=np.frombuffer(bytes([span.action for span in records]), np.uint8),
        statuses=np.frombuffer(bytes([span.status for span in records]), np.uint8),
        nbytes=np.array([span.nbytes for span in records], np.int64),
        starts=np.array([span.start for span in records], np.float64),
        stops=np.array([span.stop for span in records], np.float64),
    )


def _samples(records: Sequence[Sample], latest: float) -> Samples:
    if not records:
        return NO_SAMPLES
    found = _sample_columns(records)
    if np.all((found.times > EARLIEST) & (found.times < latest)):
        return found
    return _sample_columns(_in_time(records, latest))


def _sample_columns(records: Sequence[Sample]) -> Samples:
    return Samples(
        series=[sample.series for sample in records],
        times=np.array([sample.time for sample in records], np.float64),
        values=np.array([sample.value for sample in records], np.float64),
    )


def _days(times: Times) -> set[int]:
    """Days since 1970. Most batches are of one."""
    first, last = int(times.min() // DAY), int(times.max() // DAY)
    return {first} if first == last else set((times // DAY).astype(np.int64).tolist())


def _in_time(records: Collection[Timed], latest: float) -> list[Timed]:
    return [record for record in records if EARLIEST < record.time < latest]


def _rows_in_time(kind: str, rows: list[tuple[Any, ...]], latest: float) -> list[tuple[Any, ...]]:
    index = KINDS[kind].time_index
    return [row for row in rows if EARLIEST < row[index] < latest]


NO_SPANS, NO_SAMPLES = _span_columns([]), _sample_columns([])
