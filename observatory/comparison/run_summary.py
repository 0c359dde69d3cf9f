"""Summary of a run for comparison: its figures and the durations of each prefix's tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.comparison.significance import SHORTEST, Floats, block_medians
from observatory.runs.models import Run
from observatory.runs.other_work import other_work_of
from observatory.runs.refresh import end_of
from observatory.store.queries.windows.comparison import prefix_names, window_spans
from observatory.store.queries.windows.totals import WindowTotals, window_totals
from observatory.wire.records import Action, Status

Array = npt.NDArray[Any]

MOST_TASKS = 3_000_000
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS_OF_OCTAVE = 8
"""histograms have logarithmic bins, the same for all runs"""


class TooLarge(ValueError):
    """A run has more than MOST_TASKS tasks; the message names it."""


@dataclass(frozen=True, slots=True)
class RunWindow:
    """A run's window by the scheduler's clock; an open run ends at its newest record."""

    cluster: int
    start: datetime
    stop: datetime

    @classmethod
    def of(cls, run: Run) -> RunWindow:
        return cls(run.cluster_id, run.start, end_of(run))

    @property
    def seconds(self) -> float:
        return (self.stop - self.start).total_seconds()


@dataclass(frozen=True, slots=True)
class PrefixSummary:
    name: str
    color: str
    count: int
    """computed tasks"""
    seconds: float
    """spent computing them"""
    shortest: float
    quantiles: list[float]
    """QUANTILES of their durations, seconds"""
    longest: float
    histogram: dict[int, int]
    """tasks by duration: bin 0 begins at SHORTEST"""
    nbytes: int
    """of their results"""
    transfer_seconds: float
    """spent on transfers from other workers"""
    blocks: Floats
    """medians for the test in significance.py"""


@dataclass(frozen=True, slots=True)
class RunSummary:
    run: Run
    window: RunWindow
    totals: WindowTotals
    prefixes: dict[str, PrefixSummary]


def summarize(connection: psycopg.Connection, run: Run) -> RunSummary:
    """Raises TooLarge."""
    window = RunWindow.of(run)
    others = other_work_of(connection, run, window.stop)
    counted = window_totals(connection, window.cluster, window.start, window.stop, others)
    if counted.tasks > MOST_TASKS:
        raise TooLarge(f"Run {run.pk} has {counted.tasks:,} tasks; at most {MOST_TASKS:,} can be compared.")
    spans = window_spans(connection, window.cluster, window.start, window.stop, others=others)
    names = prefix_names(connection, window.cluster)
    return RunSummary(run, window, counted, by_prefix(spans, names))


def by_prefix(spans: Mapping[str, Array], names: Mapping[int, tuple[str, str]]) -> dict[str, PrefixSummary]:
    """Summaries of the prefixes with computed tasks, by name."""
    order = np.argsort(spans["prefix"], kind="stable")
    ids, firsts = np.unique(spans["prefix"][order], return_index=True)
    found = {}
    # not strict: without spans there are no prefixes, but np.split returns one empty part
    for prefix, rows in zip(ids, np.split(order, firsts[1:]), strict=False):
        if np.any(spans["action"][rows] == Action.COMPUTE):
            summary = _summary(*names[int(prefix)], {name: column[rows] for name, column in spans.items()})
            found[summary.name] = summary
    return found


def _summary(name: str, color: str, spans: Mapping[str, Array]) -> PrefixSummary:
    """`spans` of one prefix."""
    lengths = (spans["stop"] - spans["start"]) / 1e6
    tasks = spans["action"] == Action.COMPUTE
    # the duration of a failed task says nothing about its work
    succeeded = tasks & (spans["status"] == Status.OK)
    seconds = lengths[tasks]
    return PrefixSummary(
        name,
        color,
        count=len(seconds),
        seconds=float(seconds.sum()),
        shortest=float(seconds.min()),
        quantiles=[float(value) for value in np.quantile(seconds, QUANTILES)],
        longest=float(seconds.max()),
        histogram=_histogram(seconds),
        nbytes=int(spans["nbytes"][tasks].sum()),
        transfer_seconds=float(lengths[spans["action"] == Action.TRANSFER].sum()),
        blocks=block_medians(spans["start"][succeeded], lengths[succeeded]),
    )


def _histogram(seconds: Floats) -> dict[int, int]:
    bins = np.floor(BINS_OF_OCTAVE * np.log2(np.maximum(seconds, SHORTEST) / SHORTEST)).astype(int)
    values, counts = np.unique(bins, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
