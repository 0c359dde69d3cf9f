"""Columns of records that come one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from observatory.store.ingest.batches.record_columns import Coded, Keys, Records, clean_names, joined
from observatory.store.keys import clean_keys
from observatory.wire.kinds import KINDS
from observatory.wire.records import Sample, Series, Span

SPANS_OF_PART = 1_000
Row = TypeVar("Row")


def in_columns(rows: Sequence[Row], convert: Callable[[Sequence[Row]], Records]) -> tuple[Records, list[Row]]:
    """The rows as columns, and those that no column can hold, such as numbers beyond 64 bits."""
    try:
        return convert(rows), []
    except (OverflowError, TypeError, ValueError):
        good, refused = [], []
        for row in rows:
            try:
                convert([row])
            except (OverflowError, TypeError, ValueError):
                refused.append(row)
            else:
                good.append(row)
        return convert(good), refused


@dataclass(slots=True)
class SampleColumns:
    """Samples that come one by one."""

    series: list[Series] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.series)

    def add(self, series: Series, time: float, value: float) -> None:
        self.series.append(series)
        self.times.append(time)
        self.values.append(value)

    def append(self, sample: Sample) -> None:
        self.add(sample.series, sample.time, sample.value)

    def extend(self, others: SampleColumns) -> None:
        self.series += others.series
        self.times += others.times
        self.values += others.values

    def clear(self) -> None:
        for column in (self.series, self.times, self.values):
            column.clear()

    def records(self) -> tuple[Records, list[Sample]]:
        """The samples, and those that no column can hold."""
        try:
            return _sample_columns(self.series, self.times, self.values), []
        except (OverflowError, TypeError, ValueError):
            return in_columns(list(map(Sample, self.series, self.times, self.values)), _columns_of_samples)


def _columns_of_samples(samples: Sequence[Sample]) -> Records:
    return _sample_columns(
        [sample.series for sample in samples],
        [sample.time for sample in samples],
        [sample.value for sample in samples],
    )


def _sample_columns(series: Sequence[Series], times: Sequence[float], values: Sequence[float]) -> Records:
    return Records(
        KINDS["sample"],
        {
            "time": np.array(times, np.float64),
            "value": np.array(values, np.float64),
            "series": Coded.of_rows(series),
        },
    )


@dataclass(slots=True)
class SpanColumns:
    """Spans that come one by one. They become columns while they come, so that a batch is stored sooner."""

    parts: list[Records] = field(default_factory=list)
    rest: list[Span] = field(default_factory=list)
    """after the last part, fewer than SPANS_OF_PART"""
    refused: list[Span] = field(default_factory=list)
    """spans that no column can hold, which `parts` are without"""

    def __len__(self) -> int:
        return sum(map(len, self.parts)) + len(self.refused) + len(self.rest)

    @property
    def stops(self) -> list[float]:
        """seconds"""
        of_parts = [stop for part in self.parts for stop in part.stops.tolist()]
        return [*of_parts, *(span.stop for span in self.rest)]

    def append(self, span: Span) -> None:
        self.rest.append(span)
        if len(self.rest) == SPANS_OF_PART:
            self._end_part()

    def clear(self) -> None:
        self.parts.clear()
        self.rest.clear()
        self.refused.clear()

    def records(self) -> Records:
        """The spans without those that are refused."""
        if self.rest or not self.parts:
            self._end_part()
        spans = joined(self.parts)
        repeated = {name: spans.coded(name).merged() for name in ("worker", "typename")}
        return spans.changed(**repeated)

    def _end_part(self) -> None:
        part, refused = in_columns(self.rest, _span_columns)
        self.refused += refused
        self.parts.append(part)
        self.rest = []


def _span_columns(spans: Sequence[Span]) -> Records:
    fields = list(zip(*spans, strict=True)) or [()] * len(Span._fields)
    workers, threads, texts, prefixes, groups, actions, starts, stops, sizes, typenames, statuses = fields
    keys = clean_keys(texts)
    return Records(
        KINDS["span"],
        {
            "worker": clean_names(workers),
            "thread": np.array(threads, np.int64),
            "key": Keys(keys, np.arange(len(keys)), Coded.of(zip(prefixes, groups, strict=True))),
            "action": np.frombuffer(bytes(actions), np.uint8),
            "start": np.array(starts, np.float64),
            "stop": np.array(stops, np.float64),
            "nbytes": np.array(sizes, np.int64),
            "typename": clean_names(typenames),
            "status": np.frombuffer(bytes(statuses), np.uint8),
        },
    )
