"""Where a figure of runs, one after another, changed for good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

FEWEST = 3
"""runs between two changes"""
PENALTY = 3.0
"""of a change, times the logarithm of the number of runs: in units of the usual noise"""
LEAST = 0.05
"""a change by less than this share is none"""
LEAST_NOISE = 0.01
"""share: runs that vary by less than this are taken to vary by this"""


@dataclass(frozen=True, slots=True)
class Change:
    at: int
    """the first run after it, by its place in the sequence"""
    before: float
    """the median of the runs since the change before"""
    after: float
    """the median up to the next change"""


def changes(values: Sequence[float]) -> list[Change]:
    """The changes of a sequence of values that aren't negative.

    PELT on the distances of their logarithms from the median of a stretch, which one odd run doesn't move.
    """
    if len(values) < 2 * FEWEST or not max(values):
        return []
    import ruptures  # with all of SciPy, which takes a second: not for each process that starts

    raw = np.array(values)
    # a hundredth of the largest stands for nothing at all, which has no logarithm
    logs = np.log(raw if raw.min() > 0 else raw + 0.01 * raw.max())
    # neighbours differ by noise alone, but for the few changes: normal noise has a deviation of 1.05 of this
    noise = max(float(np.median(np.abs(np.diff(logs)))), LEAST_NOISE)
    search = ruptures.Pelt(model="l1", min_size=FEWEST, jump=1).fit(logs / noise)
    places = [0, *search.predict(PENALTY * float(np.log(len(values))))]
    medians = [float(np.median(raw[start:stop])) for start, stop in pairwise(places)]
    steps = zip(places[1:-1], pairwise(medians), strict=True)
    found = [Change(at, before, after) for at, (before, after) in steps]
    return [change for change in found if _is_large(change)]


def _is_large(change: Change) -> bool:
    return abs(change.after - change.before) >= LEAST * max(change.before, change.after)
