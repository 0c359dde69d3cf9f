"""Lasting changes in a sequence of values: change points, found with PELT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

FEWEST = 3
"""values between two change points"""
PENALTY = 3.0
"""of a change point, times the logarithm of the number of values, in units of the noise"""
LEAST = 0.05
"""share: smaller changes are ignored"""
LEAST_NOISE = 0.01
"""share: the least noise assumed"""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    at: int
    """index of the first value after it"""
    before: float
    """median of the values since the previous change point"""
    after: float
    """median up to the next change point"""


def find_change_points(values: Sequence[float]) -> list[ChangePoint]:
    """The change points of values that aren't negative.

    PELT with an L1 cost on the logarithms: the median of a segment is robust against single outliers.
    """
    if len(values) < 2 * FEWEST or not max(values):
        return []
    import ruptures  # imports SciPy, which takes a second

    raw = np.array(values)
    # 0 has no logarithm: a hundredth of the largest value is added
    logs = np.log(raw if raw.min() > 0 else raw + 0.01 * raw.max())
    # most neighbours differ by noise alone; of normal noise this is 1 / 1.05 of the deviation
    noise = max(float(np.median(np.abs(np.diff(logs)))), LEAST_NOISE)
    search = ruptures.Pelt(model="l1", min_size=FEWEST, jump=1).fit(logs / noise)
    places = [0, *search.predict(PENALTY * float(np.log(len(values))))]
    medians = [float(np.median(raw[start:stop])) for start, stop in pairwise(places)]
    steps = zip(places[1:-1], pairwise(medians), strict=True)
    found = [ChangePoint(at, before, after) for at, (before, after) in steps]
    return [change for change in found if _is_large(change)]


def _is_large(change: ChangePoint) -> bool:
    return abs(change.after - change.before) >= LEAST * max(change.before, change.after)
