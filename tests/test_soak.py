"""The soak's test whether a series grows."""

from __future__ import annotations

import random

import pytest

from benchmarks.soaking.growth import growth

TIMES = [float(second) for second in range(0, 7200, 36)]


def samples(per_hour: float, noise: float = 2.0) -> list[float]:
    random_values = random.Random(1)
    return [100 + per_hour * time / 3600 + random_values.gauss(0, noise) for time in TIMES]


@pytest.mark.parametrize(("per_hour", "is_flat"), [(0.0, True), (-20.0, True), (20.0, False)])
def test_growth_is_shown_in_spite_of_noise(per_hour: float, is_flat: bool) -> None:
    found = growth(TIMES, samples(per_hour))
    assert found is not None
    assert found.slope == pytest.approx(per_hour, abs=3)
    assert (found.low <= found.limit(0.05)) == is_flat


def test_a_cache_that_fills_first_is_no_growth() -> None:
    filling = [min(100.0, time / 20) for time in TIMES]
    found = growth(TIMES, filling)
    assert found is not None
    assert (found.slope, found.median) == (0.0, 100.0)


def test_some_outliers_are_no_growth() -> None:
    values = [1000.0 if number % 20 == 0 else value for number, value in enumerate(samples(0.0))]
    found = growth(TIMES, values)
    assert found is not None
    assert found.low <= found.limit(0.05)


def test_a_short_run_says_nothing() -> None:
    assert growth(TIMES[:12], samples(0.0)[:12]) is None
