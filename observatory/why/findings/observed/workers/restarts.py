"""Restarts of all workers that a client asked for: planned, no cause unless they take most of the time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from observatory.store.queries.windows.findings import WorkerEnd
from observatory.why.intervals import Intervals

LONGEST = 120.0
"""seconds that a restart takes"""
BEFORE = 1.0
"""seconds by which workers seem to have left before, as the times of both come from different sources"""


def restarts(times: Sequence[float], workers: Sequence[WorkerEnd]) -> Intervals:
    """Return when each restart was under way. `times`: when the scheduler began it, in seconds."""
    found = [(time, _until(time, workers)) for time in times]
    start, stop = (np.array([one[at] * 1e6 for one in found]) for at in (0, 1))
    return Intervals.of(start, stop)


def _until(time: float, workers: Sequence[WorkerEnd]) -> float:
    """When as many workers had joined as had left for it."""
    left = [one for one in workers if one.ended is not None and time - BEFORE <= one.ended <= time + LONGEST]
    joined = sorted(one.started for one in workers if time < one.started <= time + LONGEST)
    return max([time, *joined[: len(left)]])
