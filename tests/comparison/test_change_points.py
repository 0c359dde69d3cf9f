"""Lasting changes in a sequence of values."""

from __future__ import annotations

import numpy as np
import pytest

from observatory.comparison.change_points import find_change_points

CHANCE = np.random.default_rng(7)


def varied(values: list[float], by: float = 0.03) -> list[float]:
    return list(np.array(values) * np.exp(CHANCE.normal(0, by, len(values))))


def test_a_lasting_change_is_found_at_its_first_run() -> None:
    [change] = find_change_points(varied([100.0] * 20 + [122.0] * 10))
    assert change.at == 20
    assert change.before == pytest.approx(100, rel=0.05)
    assert change.after == pytest.approx(122, rel=0.05)


def test_several_changes_are_found() -> None:
    assert [
        change.at for change in find_change_points(varied([100.0] * 15 + [150.0] * 15 + [80.0] * 15))
    ] == [15, 30]


def test_one_odd_run_is_no_change() -> None:
    values = varied([100.0] * 30)
    values[12] = 1000
    assert find_change_points(values) == []


def test_runs_that_vary_as_they_always_did_have_few_false_changes() -> None:
    assert sum(bool(find_change_points(varied([100.0] * 40, by=0.2))) for _ in range(50)) <= 3


def test_a_small_but_steady_change_is_not_worth_a_mark() -> None:
    assert find_change_points([100.0] * 20 + [103.0] * 20) == []


def test_what_was_nothing_and_is_something_is_a_change() -> None:
    [change] = find_change_points([0.0] * 10 + [4.0, 5, 6, 5, 4, 5])
    assert (change.at, change.before) == (10, 0)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2, 3, 4, 5], [0.0] * 30, [7.0] * 30])
def test_too_few_runs_and_those_that_are_all_the_same_have_no_change(values: list[float]) -> None:
    assert find_change_points(values) == []
