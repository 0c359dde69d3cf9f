"""Tasks that take turns: their ends follow each other at nearly equal times, so that one after the other has
what they wait for. What keeps it from others isn't known: a lock of a database or of another machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.intervals import Integers, Numbers

FEWEST = 20
"""tasks of a prefix"""
LEAST_AT_ONCE = 1.5
"""of its tasks that had a thread, on average"""
LEAST_GAP, MOST_GAP = 0.5, 2.0
"""times the median time between two ends: bounds of its tenth and its ninetieth percentile.

The tenth of tasks that don't wait for each other is about a seventh of the median."""


@dataclass(frozen=True, slots=True)
class Turns:
    prefix: int
    rows: Integers
    """of its computations that finished"""
    every: float
    """seconds between two ends"""
    at_once: float
    """that had a thread, on average"""
    alone: float
    """seconds that one takes where it waits for no other one, at most"""
    waited: Numbers
    """seconds of each of `rows`"""


def turns(computations: Computations) -> Iterator[Turns]:
    spans = computations.spans
    for prefix, count in computations.counts.items():
        if count < FEWEST:
            continue
        rows = np.flatnonzero((spans.prefix == prefix) & computations.finished)
        ends = np.sort(spans.times.stop[rows])
        least, every, most = np.percentile(np.diff(ends), [10, 50, 90]).tolist()
        if not (LEAST_GAP * every <= least and most <= MOST_GAP * every):
            continue
        durations = computations.durations[rows]
        at_once = float(durations.sum()) * 1e6 / max(int(ends[-1]) - int(spans.times.start[rows].min()), 1)
        if at_once >= LEAST_AT_ONCE:
            alone, is_long = float(durations.min()), durations > computations.longest_usual[rows]
            usual = np.where(is_long, np.median(durations), durations)  # what one does longer isn't waiting
            yield Turns(prefix, rows, every / 1e6, at_once, alone, usual - alone)
