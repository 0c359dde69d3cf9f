"""The test of significance on durations that are chosen."""

from __future__ import annotations

import numpy as np
import pytest

from observatory.comparison.significance import LEVEL, Floats, adjusted, block_medians, combined, shifts

TASKS = 200


def run_of(
    seed: int, factors: dict[str, float], common: float = 1.0, tasks: int = TASKS
) -> dict[str, Floats]:
    """Blocks of four prefixes, whose tasks vary by 5 %; each by a factor, and all of them by `common`."""
    chance = np.random.default_rng(seed)
    start = np.arange(tasks, dtype=np.int64)
    usual = {"load": 0.1, "clean": 0.2, "join": 0.5, "store": 0.05}
    return {
        name: block_medians(
            start, seconds * factors.get(name, 1) * common * np.exp(chance.normal(0, 0.05, tasks))
        )
        for name, seconds in usual.items()
    }


def significant(a: dict[str, Floats], b: dict[str, Floats]) -> set[str]:
    return {name for name, p in adjusted(shifts(a, b)).items() if p < LEVEL}


def test_a_prefix_that_takes_a_fifth_longer_is_significant_and_no_other_is() -> None:
    for seed in range(20):
        slower, usual = run_of(seed, {"join": 1.2}), run_of(1000 + seed, {})
        assert significant(slower, usual) == {"join"}
        assert significant(usual, slower) == {"join"}


def test_runs_without_a_change_have_no_significant_difference_however_many_tasks() -> None:
    for seed in range(20):
        assert not significant(run_of(seed, {}, tasks=20_000), run_of(1000 + seed, {}, tasks=20_000))


def test_a_machine_that_slows_all_tasks_alike_makes_no_prefix_significant() -> None:
    slow, usual = run_of(1, {}, common=1.5), run_of(2, {})
    assert not significant(slow, usual)
    found = shifts(slow, usual)["load"]
    assert found.ratio == pytest.approx(1.5, rel=0.05)
    assert found.others == pytest.approx(1.5, rel=0.05)


def test_a_prefix_slowed_on_a_slower_machine_is_still_told() -> None:
    assert significant(run_of(1, {"load": 1.3}, common=1.5), run_of(2, {})) == {"load"}


def test_a_prefix_that_stayed_while_the_others_got_slower_is_no_faster_one() -> None:
    others_slower = run_of(1, {"clean": 1.4, "join": 1.4, "store": 1.4})
    assert "load" not in significant(others_slower, run_of(2, {}))


def test_a_difference_within_the_margin_is_none() -> None:
    assert not significant(run_of(1, {"load": 1.04}, tasks=20_000), run_of(2, {}, tasks=20_000))


def test_a_burst_that_slows_a_third_of_a_run_makes_nothing_significant() -> None:
    chance = np.random.default_rng(0)
    seconds = 0.1 * np.exp(chance.normal(0, 0.05, TASKS))
    disturbed = seconds.copy()
    disturbed[: TASKS // 3] *= 3
    start = np.arange(TASKS, dtype=np.int64)
    a, b = {"load": block_medians(start, disturbed)}, {"load": block_medians(start, seconds)}
    assert not significant(a, b)


def test_of_fewer_than_five_tasks_nothing_is_said() -> None:
    few = {"load": block_medians(np.arange(4, dtype=np.int64), np.full(4, 0.1))}
    assert shifts(few, run_of(1, {})) == {}
    assert adjusted({}) == {}
    assert len(block_medians(np.zeros(0, np.int64), np.zeros(0))) == 0


def test_against_several_runs_the_most_of_them_have_to_differ() -> None:
    slower, usual = run_of(0, {"join": 1.2}), [run_of(seed, {}) for seed in range(10, 15)]
    against_all = combined([shifts(slower, each) for each in usual])
    assert {name for name, p in adjusted(against_all).items() if p < LEVEL} == {"join"}
    # one run of five that was odd makes nothing significant
    odd = run_of(20, {"load": 0.5})
    mixed = combined([shifts(run_of(0, {}), each) for each in [odd, *usual[:4]]])
    assert not {name for name, p in adjusted(mixed).items() if p < LEVEL}


def test_a_prefix_that_most_of_several_runs_do_not_have_is_not_significant() -> None:
    slower = run_of(0, {"join": 2.0})
    without = {name: blocks for name, blocks in run_of(1, {}).items() if name != "join"}
    found = combined([shifts(slower, run_of(2, {})), shifts(slower, without), shifts(slower, without)])
    assert adjusted(found)["join"] == 1.0
