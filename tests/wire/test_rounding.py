"""Rates, shares and means keep 13 bits from where they are measured; all other values are as they were."""

from __future__ import annotations

import math
import random
import struct

import pytest

from observatory.wire.metrics import COUNTER, METRICS, OBSERVATORY_METRICS
from observatory.wire.rounding import ROUNDED, SIGNIFICANT_BITS, rounded

RATE = "observatory_worker_host_disk_bytes_per_second"
CHANCE = random.Random(52)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e9, 1e15])
def test_a_rounded_value_is_right_within_123_millionths(scale: float) -> None:
    for value in (scale * CHANCE.uniform(-1, 1) for _ in range(1000)):
        assert abs(rounded(RATE, value) - value) <= abs(value) * 2.0**-SIGNIFICANT_BITS
    assert 2.0**-SIGNIFICANT_BITS < 123e-6


def test_three_bytes_hold_a_rounded_value() -> None:
    for _ in range(1000):
        assert not any(struct.pack(">d", rounded(RATE, CHANCE.random()))[3:])


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.5, 100.0, 8191.0, 2.0**32, math.inf, -math.inf])
def test_values_of_few_bits_are_kept(value: float) -> None:
    assert rounded(RATE, value) == value


def test_not_a_number_stays_one() -> None:
    assert math.isnan(rounded(RATE, math.nan))


def test_rounding_twice_is_rounding_once() -> None:
    for value in (CHANCE.random() for _ in range(1000)):
        assert rounded(RATE, rounded(RATE, value)) == rounded(RATE, value)


def test_counters_counts_bytes_and_what_others_measure_are_not_rounded() -> None:
    exact = 123_456_789.123_456_7
    kept = {name for name in METRICS if rounded(name, exact) == exact}
    assert kept == METRICS.keys() - ROUNDED
    assert all(name in kept for name, metric in METRICS.items() if metric.type is COUNTER or metric.is_count)
    assert all(name in kept for name, metric in METRICS.items() if metric.unit == "bytes")
    assert METRICS.keys() - OBSERVATORY_METRICS.keys() <= kept  # Dask's own, of /metrics and remote write
    assert rounded("node_load1", exact) == exact
    assert rounded("observatory_worker_custom", exact) == exact
