"""Rates of counters, the same for tiles and for live frames."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MAXIMUM_GAP = 3.0
"""sampling intervals between two samples of a counter; beyond it the rate is unknown"""


def counter_rates(elapsed: Floats, previous: Floats, value: Floats, interval: Floats) -> Floats:
    """Return rates per second; NaN if the previous sample is NaN or over MAXIMUM_GAP intervals ago.

    `elapsed` and `interval` are in seconds. A counter that fell was reset and has grown from 0, as in
    Prometheus' rate().
    """
    is_known = (elapsed > 0) & (elapsed <= MAXIMUM_GAP * interval)
    grown = np.where(value < previous, value, value - previous)
    rates: Floats = np.divide(grown, elapsed, out=np.full(len(value), np.nan), where=is_known)
    return rates
