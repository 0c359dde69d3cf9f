"""Sums up the scheduler's series of prefixes beyond a number, on their way from its /metrics to the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from observatory.wire.records import Series
from observatory.wire.tasks.prefixes import OTHERS, NamedPrefixes

LABEL = "task_prefix_name"

Sample = tuple[Series, float, float | None]
"""as in exposition.Page"""


def prefix_of(series: Series) -> str | None:
    """The prefix of a series of the scheduler's /metrics; None if it has none."""
    return next((value for label, value in series.labels if label == LABEL), None)


class PrefixSeries:
    """Those of one cluster. `known`: series that are stored."""

    def __init__(self, known: Iterable[Series]) -> None:
        prefixes = (prefix_of(series) for series in known)
        self.names = NamedPrefixes(prefix for prefix in prefixes if prefix is not None)
        self._others: dict[Series, Series] = {}
        """The series that sums up a series."""

    def fold(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples of a whole page, with those of further prefixes summed as OTHERS."""
        prefixes = [prefix_of(series) for series, _, _ in samples]
        self.names.forget_others_than({prefix for prefix in prefixes if prefix is not None})
        kept: list[Sample] = []
        sums: dict[Series, float] = {}
        for sample, prefix in zip(samples, prefixes, strict=True):
            if prefix is None or self.names.name_of(prefix) == prefix:
                kept.append(sample)
            else:
                others = self._others_of(sample[0])
                sums[others] = sums.get(others, 0.0) + sample[1]
        return kept + [(series, value, None) for series, value in sums.items()]

    def _others_of(self, series: Series) -> Series:
        labels = tuple((label, OTHERS if label == LABEL else value) for label, value in series.labels)
        others = replace(series, labels=labels)
        return self._others.setdefault(others, others)
