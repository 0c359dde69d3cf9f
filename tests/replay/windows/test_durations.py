"""Durations from sums by bucket: extremes are exact, quantiles right within one percent."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from observatory.replay.windows.durations import durations_of
from observatory.store.queries.sums.sum_layer import Columns

OF_AN_OCTAVE = 36

SHAPES: dict[str, Callable[[Random], float]] = {
    "wide": lambda random: random.lognormvariate(10, 3),
    "narrow": lambda random: random.gauss(250_000, 2_000),
    "two peaks": lambda random: random.choice((1_000, 2_500_000)) * random.uniform(0.9, 1.1),
    "microseconds": lambda random: random.randrange(0, 40),
}


def sums_of(durations: list[int], parts: int = 1) -> Columns:
    """The sums by bucket of durations in microseconds, a row for each part of a bucket."""
    rows: dict[tuple[int, int], list[int]] = {}
    for number, duration in enumerate(durations):
        bucket = math.floor(OF_AN_OCTAVE * math.log2(max(duration, 1)))
        rows.setdefault((bucket, number % parts), []).append(duration)
    return {
        "bucket": np.array([bucket for bucket, _ in rows], np.int64),
        "count": np.array([len(row) for row in rows.values()], float),
        "shortest": np.array([min(row) / 1e6 for row in rows.values()], float),
        "longest": np.array([max(row) / 1e6 for row in rows.values()], float),
    }


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", [1, 2, 3, 10, 101, 5_000])
def test_quantiles_are_right_within_one_percent_and_extremes_are_exact(shape: str, number: int) -> None:
    random = Random(number)
    durations = [max(0, round(SHAPES[shape](random))) for _ in range(number)]
    found = durations_of(sums_of(durations, parts=3))
    exact = np.array(durations) / 1e6
    assert (found["tasks"], found["shortest"], found["longest"]) == (number, exact.min(), exact.max())
    for name, share in (("median", 0.5), ("p95", 0.95)):
        assert found[name] == pytest.approx(np.quantile(exact, share), rel=0.01, abs=1e-12)
    assert sum(count for _, count in found["histogram"]) == number
    assert found["histogram"] == sorted(found["histogram"])


@pytest.mark.parametrize("durations", [[2_720_000], [250_000, 2_500_000], [7] * 9])
def test_of_one_or_two_tasks_or_equal_ones_all_is_exact(durations: list[int]) -> None:
    found = durations_of(sums_of(durations))
    exact: Any = np.array(durations) / 1e6
    assert found["median"] == pytest.approx(np.median(exact), rel=1e-12)
    assert found["p95"] == pytest.approx(np.quantile(exact, 0.95), rel=1e-12)


def test_without_a_span_that_ended_there_are_no_durations() -> None:
    columns = ("bucket", "count", "shortest", "longest")
    running = dict(zip(columns, map(np.array, ([5], [0.0], [math.inf], [0.0])), strict=True))
    for rows in ({name: np.zeros(0) for name in columns}, running):
        found = durations_of(rows)
        assert (found["tasks"], found["histogram"]) == (0, [])
        assert all(found[name] is None for name in ("shortest", "median", "p95", "longest"))
