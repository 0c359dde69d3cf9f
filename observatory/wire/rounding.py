"""Rounds rates, shares and means where they are measured, before anything shows or stores them.

Each is a quotient that a clock's reading is in, and three or four of its digits are known. It fills a double
all the same, and no compressor makes the digits behind those smaller.
"""

from __future__ import annotations

from math import frexp, isfinite, ldexp

from observatory.wire.metrics import METRICS

SIGNIFICANT_BITS = 13
"""right within 0.0123 %. Sign, exponent and twelve bits after the leading one are three bytes of a double"""
ROUNDED = frozenset(name for name, metric in METRICS.items() if metric.is_rounded)


def rounded(metric: str, value: float) -> float:
    """The value of a sample: of a rate, share or mean the nearest with SIGNIFICANT_BITS."""
    if metric not in ROUNDED or not isfinite(value):
        return value
    fraction, exponent = frexp(value)
    return ldexp(round(fraction * 2**SIGNIFICANT_BITS), exponent - SIGNIFICANT_BITS)
