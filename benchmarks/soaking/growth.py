"""Tests whether a sampled series grows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
WARM_UP = 1 / 3
"""share of the samples that is left out: caches fill first"""
HOUR = 3600.0
LEAST_SAMPLES = 10


@dataclass(frozen=True, slots=True)
class Growth:
    """The Theil–Sen slope of a series in its unit per hour, with its confidence interval."""

    median: float
    slope: float
    low: float
    high: float

    def limit(self, share: float) -> float:
        """The growth per hour by a share of the median; of a median below 1, by a share of 1."""
        return share * max(self.median, 1.0)


def growth(times: Sequence[float], values: Sequence[float]) -> Growth | None:
    """The growth after the warm-up; None with too few samples. Times are seconds."""
    from scipy.stats import theilslopes  # takes a second

    start = int(len(times) * WARM_UP)
    if len(times) - start < LEAST_SAMPLES:
        return None
    hours = [time / HOUR for time in times[start:]]
    slope, _, low, high = theilslopes(values[start:], hours, CONFIDENCE)
    return Growth(statistics.median(values[start:]), float(slope), float(low), float(high))
