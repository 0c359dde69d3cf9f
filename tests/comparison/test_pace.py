"""How much longer the tasks of a run take than those of others: how often it is wrong, and what moves it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from observatory.comparison.check.pace import judge_pace
from observatory.comparison.run_summary import PrefixSummary

USUAL = {"load": 2.4, "clean": 3.0, "join": 4.0, "store": 2.8}


def summaries(
    seconds: Mapping[str, float], noise: float = 0.0, seed: int = 0, blocks: int = 10
) -> dict[str, PrefixSummary]:
    """Prefixes of a run, of 100 tasks each, whose durations vary from run to run by `noise`."""
    chance = np.random.default_rng(seed)
    return {
        name: PrefixSummary(
            name,
            "#000000",
            100,
            100 * each,
            each,
            [each] * 5,
            each,
            {},
            0,
            0.0,
            np.full(blocks, np.log(each) + chance.normal(0, noise) if noise else np.log(each)),
        )
        for name, each in seconds.items()
    }


def history(count: int = 10, noise: float = 0.02, seed: int = 1) -> list[dict[str, PrefixSummary]]:
    return [summaries(USUAL, noise, 1000 * seed + number) for number in range(count)]


def test_all_prefixes_slower_by_a_fifth_is_a_pace_of_a_fifth_more() -> None:
    found = judge_pace(summaries({name: 1.2 * each for name, each in USUAL.items()}), history(), 0.1)
    assert found is not None
    assert found.value == pytest.approx(1.2, abs=0.02)
    assert (found.prefixes, found.runs, found.judgement.verdict) == (4, 10, "worse")


def test_one_prefix_that_changed_doesnt_move_the_pace() -> None:
    found = judge_pace(summaries({**USUAL, "join": 40.0}), history(), 0.1)
    assert found is not None
    assert found.value == pytest.approx(1.0, abs=0.02)
    assert found.judgement.verdict == "fine"


def test_a_prefix_counts_by_the_time_that_it_computes() -> None:
    usual = {"large": 10.0, **{f"tiny-{number}": 0.001 for number in range(20)}}
    before = [summaries(usual) for _ in range(5)]
    slower = {name: each * (1 if name == "large" else 3) for name, each in usual.items()}
    found = judge_pace(summaries(slower), before, 0.1)
    assert found is not None
    assert found.value == pytest.approx(1.0)


def test_prefixes_with_few_tasks_and_those_of_few_runs_tell_nothing() -> None:
    assert judge_pace(summaries(USUAL, blocks=4), history(), 0.1) is None
    assert judge_pace(summaries({"other": 1.0}), history(), 0.1) is None
    assert judge_pace({}, history(), 0.1) is None
    assert judge_pace(summaries(USUAL), [], 0.1) is None
    found = judge_pace(summaries({**USUAL, "new": 100.0}), [*history(9), summaries({"new": 1.0})], 0.1)
    assert found is not None
    assert (found.prefixes, found.judgement.verdict) == (4, "fine")


def test_one_or_two_earlier_runs_dont_say_how_much_runs_vary() -> None:
    slower = summaries({name: 1.2 * each for name, each in USUAL.items()})
    for count in (1, 2):
        found = judge_pace(slower, history(count), 0.1)
        assert found is not None
        assert found.judgement.verdict == "unclear"
        same = judge_pace(summaries(USUAL), history(count), 0.1)
        assert same is not None
        assert same.judgement.verdict == "fine"


def test_a_machine_that_was_busy_for_half_of_the_run_is_no_slower_pace() -> None:
    run = summaries(USUAL)
    for each in run.values():
        each.blocks[: len(each.blocks) // 2] += np.log(3)
    found = judge_pace(run, history(), 0.1)
    assert found is not None
    assert found.value == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("count", [3, 10])
@pytest.mark.parametrize("noise", [0.02, 0.2])
def test_of_runs_without_a_change_hardly_any_is_called_worse(count: int, noise: float) -> None:
    worse = 0
    for seed in range(400):
        found = judge_pace(summaries(USUAL, noise, 10**6 + seed), history(count, noise, seed), 0.05)
        assert found is not None
        worse += found.judgement.verdict == "worse"
    assert worse <= 4  # 1 %
