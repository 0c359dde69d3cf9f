"""Unmanaged memory of workers that grew over several tasks and did not come back, as where code leaks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from observatory.why.findings.observed.samples import Samples
from observatory.why.intervals import Integers, Numbers

LEAST_SHARE = 0.3
"""of the worker's memory limit, by which it grew"""
LEAST_SECONDS, FEWEST, FEWEST_TASKS = 5.0, 6, 5
"""of the growth: how long it took, and the number of samples and of tasks that ended in it"""
LEAST_FIT = 0.8
"""square of the correlation of memory and time"""
MOST_AT_ONCE = 0.4
"""of the growth, between two samples: a leak is no step"""
EDGE = 0.05
"""of the growth, that is left out at both of its ends"""
COMES_BACK = 0.7
"""of the growth, which memory had before and came back from"""
HIGH = 2
"""samples at the end, which may be high for a while only"""


@dataclass(frozen=True, slots=True)
class Growth:
    worker: int
    nbytes: float
    rate: float
    """bytes a second"""
    first: float
    last: float
    """seconds, from when until when it grew"""
    reached: float
    """bytes at the end of the window"""
    limit: int
    """bytes that the worker may use"""

    @property
    def full_after(self) -> float:
        """Seconds after its end until the limit would be reached."""
        return max(0.0, self.limit - self.reached) / self.rate


def growths(unmanaged: Samples, limits: Mapping[int, int], ended: Mapping[int, Integers]) -> list[Growth]:
    """Return the growths, the greatest first.

    `limits`: bytes that each worker may use. `ended`: when tasks of each worker had ended (microseconds).
    """
    found = []
    for worker in np.unique(unmanaged.worker).tolist():
        rows = np.flatnonzero(unmanaged.worker == worker)
        limit = limits.get(worker, 0)
        growth = limit and _growth(
            worker, limit, unmanaged.times.stop[rows] / 1e6, unmanaged.value[rows], ended.get(worker)
        )
        if growth:
            found.append(growth)
    return sorted(found, key=lambda one: -one.nbytes)


def _growth(
    worker: int, limit: int, times: Numbers, values: Numbers, ended: Integers | None
) -> Growth | None:
    if ended is None or len(values) < FEWEST + HIGH:
        return None
    # what it never falls below again: memory of tasks that run comes back
    kept = np.minimum.accumulate(values[::-1])[::-1][:-HIGH]
    nbytes = float(kept[-1] - kept[0])
    if nbytes < LEAST_SHARE * limit or np.diff(kept).max() > MOST_AT_ONCE * nbytes:
        return None
    first = int(np.flatnonzero(kept <= kept[0] + EDGE * nbytes)[-1])
    last = int(np.flatnonzero(kept >= kept[-1] - EDGE * nbytes)[0])
    if values[: first + 1].max() >= kept[0] + COMES_BACK * nbytes:
        return None
    seconds = float(times[last] - times[first])
    tasks = np.count_nonzero((ended > times[first] * 1e6) & (ended <= times[last] * 1e6))
    if seconds < LEAST_SECONDS or last - first + 1 < FEWEST or tasks < FEWEST_TASKS:
        return None
    part = slice(first, last + 1)
    if float(np.corrcoef(times[part], kept[part])[0, 1]) ** 2 < LEAST_FIT:
        return None
    rate = float(kept[last] - kept[first]) / seconds
    return Growth(worker, nbytes, rate, float(times[first]), float(times[last]), float(values[-1]), limit)
