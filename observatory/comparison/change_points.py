"""Lasting changes in a sequence of values: change points, found by dynamic programming."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

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

    The cost of a segment is the distance of the logarithms from their median, which is robust against
    single outliers.
    """
    if len(values) < 2 * FEWEST or not max(values):
        return []
    raw = np.array(values)
    # 0 has no logarithm: a hundredth of the largest value is added
    logs = np.log(raw if raw.min() > 0 else raw + 0.01 * raw.max())
    # most neighbours differ by noise alone; of normal noise this is 1 / 1.05 of the deviation
    noise = max(float(np.median(np.abs(np.diff(logs)))), LEAST_NOISE)
    penalty = PENALTY * float(np.log(len(values)))
    places = [*_cheapest_segments((logs / noise).tolist(), penalty), len(values)]
    medians = [float(np.median(raw[start:stop])) for start, stop in pairwise(places)]
    steps = zip(places[1:-1], pairwise(medians), strict=True)
    found = [ChangePoint(at, before, after) for at, (before, after) in steps]
    return [change for change in found if _is_large(change)]


def _cheapest_segments(values: Sequence[float], penalty: float) -> list[int]:
    """The starts of the segments of at least FEWEST values with the lowest sum of costs and penalties.

    A library such as ruptures would do, but its import takes longer than any page may.
    """
    costs, starts = [0.0] + [inf] * len(values), [0] * (len(values) + 1)
    for stop in range(FEWEST, len(values) + 1):
        ordered: list[float] = []
        for start in range(stop - 1, -1, -1):
            insort(ordered, values[start])
            half = len(ordered) // 2
            if len(ordered) < FEWEST or costs[start] == inf:
                continue
            cost = costs[start] + penalty + sum(ordered[-half:]) - sum(ordered[:half])
            if cost < costs[stop]:
                costs[stop], starts[stop] = cost, start
    found = [starts[-1]]
    while found[-1]:
        found.append(starts[found[-1]])
    return found[::-1]


def _is_large(change: ChangePoint) -> bool:
    return abs(change.after - change.before) >= LEAST * max(change.before, change.after)
