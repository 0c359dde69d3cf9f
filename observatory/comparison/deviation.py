"""Whether a figure of a run differs from that of earlier runs by more than these vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from observatory.comparison.change_points import FEWEST, LEAST, LEAST_NOISE, find_change_points

OUTLYING = 4.0
"""times the noise: without a change, one in ten thousand runs exceeds this"""


@dataclass(frozen=True, slots=True)
class Deviation:
    value: float
    usual: float
    """median of the earlier values since their last change point"""
    is_unusual: bool

    @property
    def share(self) -> float:
        """The difference relative to the usual value; infinite if that is 0."""
        return abs(self.value - self.usual) / self.usual if self.usual else float("inf")


def deviation_of(value: float, before: Sequence[float]) -> Deviation | None:
    """Compares a value with earlier ones, oldest first; None if too few of them say what is usual."""
    found = find_change_points(before)
    usual = before[found[-1].at :] if found else before
    if len(usual) < FEWEST:
        return None
    return Deviation(value, median(usual), _is_unusual(value, usual))


def _is_unusual(value: float, usual: Sequence[float]) -> bool:
    if not max(usual):
        return value > 0
    if not value or not min(usual):
        return False  # 0 has no logarithm, and what is sometimes 0 varies without bounds
    logs = np.log(usual)
    noise = max(float(np.median(np.abs(np.diff(logs)))), LEAST_NOISE)
    excess = abs(np.log(value) - float(np.median(logs)))
    return bool(excess > max(OUTLYING * noise, np.log1p(LEAST)))
