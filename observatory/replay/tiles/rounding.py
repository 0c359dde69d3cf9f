"""Rounds the numbers of tiles to as many digits as a chart shows; the others can't be compressed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from observatory.store.series.counters import Floats

FRACTION_BITS = 52
"""of a double"""


def rounded(values: npt.NDArray[Any], bits: int) -> Floats:
    """Round to `bits` binary digits after the first; whole numbers below 2^(bits + 1) stay as they are."""
    dropped = np.uint64(FRACTION_BITS - bits)
    one = np.uint64(1)
    found = np.ascontiguousarray(values, np.float64)
    is_finite = np.isfinite(found)
    number = found.view(np.uint64) + (one << (dropped - one))
    return np.where(is_finite, (number >> dropped << dropped).view(np.float64), found)
