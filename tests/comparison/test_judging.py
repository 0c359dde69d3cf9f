"""Whether a figure is worse than earlier ones: how often a check is wrong, and what it doesn't know."""

from __future__ import annotations

import numpy as np
import pytest

from observatory.comparison.check.judging import judge, since_last_change

SECONDS = [60.0, 61.0, 59.0, 60.5, 60.0, 61.2, 59.5, 60.3, 60.8, 59.2]


def test_a_figure_over_the_limit_and_beyond_what_runs_vary_is_worse() -> None:
    found = judge(72.0, SECONDS, 0.1)
    assert (found.verdict, found.usual) == ("worse", 60.15)
    assert found.ratio == pytest.approx(1.197, abs=0.001)


def test_a_figure_within_the_limit_is_fine_however_certain_the_difference_is() -> None:
    assert judge(68.0, SECONDS, 0.15).verdict == "fine"
    assert judge(30.0, SECONDS, 0.1).verdict == "fine"
    assert judge(68.0, SECONDS, 0.05).verdict == "worse"


def test_a_figure_over_the_limit_is_unclear_where_runs_vary_as_much() -> None:
    noisy = [60.0, 90.0, 50.0, 100.0, 61.0, 75.0]
    found = judge(80.0, noisy, 0.1)
    assert found.verdict == "unclear"
    assert found.noticed is not None
    assert found.noticed > 1
    assert judge(80.0, [*SECONDS[:9], 120.0], 0.1).verdict == "unclear"  # one outlier says that runs vary


@pytest.mark.parametrize("few", [[], [60.0], [60.0, 60.1]])
def test_too_few_runs_dont_say_how_much_runs_vary(few: list[float]) -> None:
    assert judge(90.0, few, 0.1).verdict == "unclear"
    assert judge(90.0, few, 0.1).noticed is None


def test_one_earlier_run_tells_that_a_run_is_no_longer_than_it() -> None:
    assert judge(61.0, [60.0], 0.1).verdict == "fine"
    assert judge(61.0, [], 0.1).verdict == "unclear"


def test_three_runs_are_enough_for_a_large_difference_only() -> None:
    assert judge(90.0, [60.0, 60.3, 59.8], 0.1).verdict == "worse"
    assert judge(69.0, [60.0, 60.3, 59.8], 0.1).verdict == "unclear"


def test_what_is_sometimes_nothing_has_no_ratio_to_judge_by() -> None:
    assert judge(0.0, [0.0, 0.0, 0.0], 0.1).verdict == "fine"
    assert judge(5.0, [0.0, 0.0, 0.0], 0.1).verdict == "unclear"
    assert judge(5.0, [4.0, 0.0, 5.0], 0.1).verdict == "unclear"


def test_runs_before_the_last_lasting_change_dont_count() -> None:
    assert since_last_change([30.0, 30.3, 29.9, 30.1, *SECONDS[:5]]) == 4
    assert since_last_change(SECONDS) == 0
    assert since_last_change([]) == 0


@pytest.mark.parametrize("deviation", [0.01, 0.03, 0.1, 0.3])
@pytest.mark.parametrize("count", [3, 5, 10, 20])
def test_of_runs_without_a_change_hardly_any_is_called_worse(deviation: float, count: int) -> None:
    chance = np.random.default_rng(count)
    drawn = np.exp(chance.normal(0, deviation, (2000, count + 1)))
    worse = [judge(row[-1], row[:-1].tolist(), 0.05).verdict == "worse" for row in drawn]
    assert np.mean(worse) <= 0.005


@pytest.mark.parametrize("count", [5, 10, 20])
def test_a_change_of_the_size_that_is_named_is_noticed(count: int) -> None:
    chance = np.random.default_rng(count)
    drawn = np.exp(chance.normal(0, 0.03, (1000, count)))
    found = []
    for row in drawn.tolist():
        noticed = judge(1.0, row, 0.05).noticed
        assert noticed is not None
        slower = (1 + noticed) * float(np.exp(chance.normal(0, 0.03)))
        found.append(judge(slower, row, 0.05).verdict == "worse")
    assert np.mean(found) >= 0.9


@pytest.mark.parametrize(("count", "least"), [(3, 0.19), (10, 0.04)])
def test_few_runs_need_a_larger_difference_as_docs_ci_says(count: int, least: float) -> None:
    alike = [1.0] * count
    assert judge(1 + least - 0.01, alike, 0.01).verdict == "unclear"
    assert judge(1 + least + 0.01, alike, 0.01).verdict == "worse"
