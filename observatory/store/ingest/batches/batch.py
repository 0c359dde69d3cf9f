"""A batch: records of one cluster that are stored in one transaction. Every source makes the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from time import time as now
from typing import Any

import numpy as np

from observatory.store.ingest.batches.growing_columns import SampleColumns, SpanColumns
from observatory.store.ingest.batches.record_columns import Coded, Records, clean_names, records_of_rows
from observatory.store.ingest.source_limits import SourceLimit
from observatory.wire.dropped_records import DropReason, dropped_detail
from observatory.wire.event_kinds import RECORDS_DROPPED
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS
from observatory.wire.records import ClientRun, Event, Sample, Span, WorkerGone, WorkerSeen, is_time

Record = Span | Sample | Event | WorkerSeen | WorkerGone | ClientRun


@dataclass(frozen=True, eq=False)
class Batch:
    """Records of one cluster that are committed together."""

    cluster: int
    """primary key of the cluster"""
    records: Mapping[str, Records] = field(default_factory=dict)
    """by kind"""
    workers: Sequence[WorkerSeen] = ()
    gone: Sequence[WorkerGone] = ()
    runs: Sequence[ClientRun] = ()
    committed: float = 0.0
    """all records of this cluster before this time are in this batch or an earlier one; 0: unknown"""
    errors: int = 0
    """tasks that erred since the batch before, as far as the source can count them"""
    head: Head | None = None
    """of an agent's batch; None: the records were scraped"""
    refused: int = 0
    """records that no column can hold, such as numbers beyond 64 bits"""
    is_agents: bool = False
    """whether an agent reported it whose number is stored already, so that it has no head any more"""
    dropped: int = 0
    """records that the agent reports as dropped with this batch"""
    limit: SourceLimit | None = None
    """of the times of the records; None: a file of any time is imported"""

    @classmethod
    def of(
        cls,
        cluster: int,
        workers: Iterable[WorkerSeen] = (),
        spans: Iterable[Span] = (),
        samples: Iterable[Sample] = (),
        events: Iterable[Event] = (),
        gone: Iterable[WorkerGone] = (),
        runs: Iterable[ClientRun] = (),
        committed: float = 0.0,
        errors: int = 0,
        head: Head | None = None,
        rows: Mapping[str, Sequence[tuple[Any, ...]]] | None = None,
    ) -> Batch:
        """Of single records; `rows` are tuples by kind, in the order of the kind's fields."""
        builder = BatchBuilder(cluster, committed, errors, head)
        for records in (workers, spans, samples, events, gone, runs):
            for record in records:
                builder.add(record)
        builder.rows.update(rows or {})
        return builder.batch

    def __len__(self) -> int:
        changes = len(self.workers) + len(self.gone) + len(self.runs)
        return changes + self.refused + sum(map(len, self.records.values()))

    def count(self, kind: str) -> int:
        return len(self.records[kind]) if kind in self.records else 0


@dataclass
class BatchBuilder:
    """Makes a batch of records that come one by one."""

    cluster: int
    committed: float = 0.0
    errors: int = 0
    head: Head | None = None
    limit: SourceLimit | None = None
    workers: list[WorkerSeen] = field(default_factory=list)
    gone: list[WorkerGone] = field(default_factory=list)
    runs: list[ClientRun] = field(default_factory=list)
    spans: SpanColumns = field(default_factory=SpanColumns)
    events: list[Event] = field(default_factory=list)
    samples: SampleColumns = field(default_factory=SampleColumns)
    rows: dict[str, Sequence[tuple[Any, ...]]] = field(default_factory=dict)

    def __len__(self) -> int:
        known: tuple[Sized, ...] = (self.workers, self.gone, self.runs, self.spans, self.events, self.samples)
        return sum(map(len, known)) + sum(map(len, self.rows.values()))

    def __post_init__(self) -> None:
        self._add: dict[type, Callable[[Any], None]] = {
            Span: self.spans.append,
            Sample: self.samples.append,
            Event: self.events.append,
            WorkerSeen: self.workers.append,
            WorkerGone: self.gone.append,
            ClientRun: self.runs.append,
        }

    def add(self, record: Record) -> None:
        self._add[type(record)](record)

    @cached_property
    def batch(self) -> Batch:
        """The batch, the same each time: no record can be added any more."""
        records: dict[str, Records] = {}
        refused: dict[str, list[float]] = {}
        if len(self.spans):
            records["span"] = self.spans.records()
            refused["span"] = [span.stop for span in self.spans.refused]
        if len(self.samples):
            records["sample"], samples = self.samples.records()
            refused["sample"] = [sample.time for sample in samples]
        if events := [*self.events, *_marks(refused)]:
            records["event"] = _events(events)
        records |= {kind: records_of_rows(KINDS[kind], rows) for kind, rows in self.rows.items() if rows}
        return Batch(
            self.cluster,
            {kind: some for kind, some in records.items() if len(some)},
            self.workers,
            self.gone,
            self.runs,
            self.committed,
            self.errors,
            self.head,
            sum(map(len, refused.values())),
            limit=self.limit,
        )


def _marks(refused: Mapping[str, Sequence[float]]) -> Iterator[Event]:
    """An event for each kind of records that are left out; their times may be wrong, too."""
    for kind, times in refused.items():
        if times:
            valid = [time for time in times if isinstance(time, float) and is_time(time)] or [now()]
            detail = dropped_detail(kind, len(times), DropReason.DATABASE_REFUSED, min(valid), max(valid))
            yield Event(min(valid), RECORDS_DROPPED, "", detail)


def _events(events: Sequence[Event]) -> Records:
    return Records(
        KINDS["event"],
        {
            "time": np.array([event.time for event in events], np.float64),
            "kind": clean_names([event.kind for event in events]),
            "worker": clean_names([event.worker for event in events]),
            "detail": Coded.of_rows([event.detail for event in events]),
        },
    )
