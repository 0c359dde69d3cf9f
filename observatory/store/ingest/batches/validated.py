"""Validates a batch: what is left are records that the tables can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeVar

import numpy as np

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.batches.reading_blocks import EARLIEST
from observatory.store.ingest.batches.record_columns import Array, Records, Times
from observatory.store.ingest.source_limits import MOST_DAYS, SourceLimit
from observatory.store.schema.time_series import TimeSeries, table_of
from observatory.store.times import EPOCH, from_seconds
from observatory.wire.event_kinds import CLUSTER_ENDED, FROM_COLLECTOR
from observatory.wire.head import Head
from observatory.wire.records import ClientRun, Series, WorkerGone, WorkerSeen, is_time

Timed = TypeVar("Timed", WorkerSeen, WorkerGone, ClientRun)

AGENTS_METRICS = "observatory_"
"""the prefix of the metrics that agents and the collector both report"""
DAY = 86_400
NO_TIMES: Times = np.empty(0)


@dataclass(frozen=True, slots=True)
class ValidatedBatch:
    """The records of a batch with valid times and numbers. No kind is empty."""

    cluster: int
    records: Mapping[str, Records]
    """by kind"""
    workers: Sequence[WorkerSeen]
    gone: Sequence[WorkerGone]
    runs: Sequence[ClientRun]
    committed: float
    errors: int
    head: Head | None
    is_agents: bool
    refused: int
    dropped: int
    limit: SourceLimit | None
    reasons: Sequence[str] = ()
    """why records of valid times were refused, in sentences"""

    def days(self) -> Iterator[tuple[TimeSeries, list[date]]]:
        """The days (UTC) that each table gets records of."""
        for kind, records in self.records.items():
            days = [from_seconds(day * DAY).date() for day in _days(records.times)]
            yield table_of(kind), days

    def without_days(self, days: AbstractSet[date]) -> ValidatedBatch:
        """Without the records of these days (UTC), which are refused."""
        numbers = [(day - EPOCH.date()).days for day in days]
        kept = {kind: some.where(~np.isin(some.times // DAY, numbers)) for kind, some in self.records.items()}
        refused = sum(map(len, self.records.values())) - sum(map(len, kept.values()))
        reason = f"{refused} records lie on {len(days)} new days: at most {MOST_DAYS} may begin in an hour"
        return replace(
            self,
            records=_not_empty(kept),
            refused=self.refused + refused,
            reasons=[*self.reasons, reason],
        )

    def count(self, kind: str) -> int:
        return len(self.records[kind]) if kind in self.records else 0

    def times(self, kind: str) -> Times:
        """Of the records of a kind."""
        return self.records[kind].times if kind in self.records else NO_TIMES

    def stops(self, kind: str) -> Times:
        return self.records[kind].stops if kind in self.records else NO_TIMES

    @property
    def cluster_end(self) -> float | None:
        """When the cluster ended (seconds), if an event of the batch says so."""
        if "event" not in self.records:
            return None
        events = self.records["event"]
        ends = events.times[events.coded("kind").numbers(lambda kind: kind == CLUSTER_ENDED, np.bool_)]
        return float(ends.max()) if len(ends) else None

    def without_agents_records(self) -> ValidatedBatch:
        """The part of a scraped batch that agents don't report: own events, Prometheus' own metrics."""
        kept: dict[str, Records] = {}
        if "event" in self.records:
            events = self.records["event"]
            own = events.coded("kind").numbers(lambda kind: kind in FROM_COLLECTOR, np.bool_)
            kept["event"] = events.where(own)
        if "sample" in self.records:
            samples = self.records["sample"]
            kept["sample"] = samples.where(samples.coded("series").numbers(_is_prometheus, np.bool_))
        return replace(self, records=_not_empty(kept), workers=(), gone=(), errors=0)

    def without_earlier_spans(self, since: float) -> ValidatedBatch:
        """Without the spans that ended before `since`: the event stream has reported them."""
        if not (self.stops("span") < since).any():
            return self
        spans = self.records["span"]
        return replace(self, records=_not_empty({**self.records, "span": spans.where(spans.stops >= since)}))


def validate(batch: Batch, latest: float) -> ValidatedBatch:
    """Leaves out records before 2000, before the batch's limit or after `latest` (seconds), and those with
    numbers beyond 64 bits."""
    limit = batch.limit
    earliest = limit.earliest if limit is not None else 0.0
    in_time = {kind: some.where(~(some.times < earliest)) for kind, some in batch.records.items()}
    early = sum(map(len, batch.records.values())) - sum(map(len, in_time.values()))
    records = _not_empty({kind: _valid(some, latest) for kind, some in in_time.items()})
    workers, gone = _in_time(batch.workers, latest), _in_time(batch.gone, latest)
    runs = _in_time(batch.runs, latest)
    valid = len(workers) + len(gone) + len(runs) + sum(map(len, records.values()))
    return ValidatedBatch(
        cluster=batch.cluster,
        records=records,
        workers=workers,
        gone=gone,
        runs=runs,
        committed=batch.committed if is_time(batch.committed) and batch.committed < latest else 0.0,
        errors=max(batch.errors, 0),
        head=batch.head,
        is_agents=batch.is_agents,
        refused=len(batch) - valid,
        dropped=batch.dropped,
        limit=limit,
        reasons=[f"{early} records are from before {from_seconds(earliest):%Y-%m-%d %H:%M} UTC"]
        if early
        else [],
    )


def _valid(records: Records, latest: float) -> Records:
    kind = records.kind
    times = records.times
    good: Array = (times > EARLIEST) & (times < latest)
    if kind.stop and kind.clips_stop:
        records = records.changed(**{kind.stop: np.maximum(times, records.stops)})
    elif kind.stop:
        good &= (times <= records.stops) & (records.stops < latest)
    if kind.name == "span":
        sizes = records.numbers("nbytes")
        good &= (sizes >= 0) & (sizes < 2**63)
    return records.where(good)


def _not_empty(records: Mapping[str, Records]) -> dict[str, Records]:
    return {kind: some for kind, some in records.items() if len(some)}


def _days(times: Times) -> set[int]:
    """Days since 1970. Most batches are of one."""
    first, last = int(times.min() // DAY), int(times.max() // DAY)
    return {first} if first == last else set((times // DAY).astype(np.int64).tolist())


def _in_time(records: Sequence[Timed], latest: float) -> list[Timed]:
    return [record for record in records if EARLIEST < record.time < latest]


def _is_prometheus(series: Series) -> bool:
    return not series.metric.startswith(AGENTS_METRICS)
