"""Short and repeated firings, and the threshold to clear at that is offered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from observatory.alerts.evaluation.flapping import (
    Lasted,
    best,
    clear_candidates,
    clearing_at,
    durations,
    is_flapping,
    lasted,
    too_short,
)
from observatory.alerts.evaluation.window.outcomes import CLUSTER, Outcome, Truth
from observatory.alerts.evaluation.window.state_machine import Firing, advance
from observatory.alerts.rules.conditions import Attribute, By, Comparison, EventCondition, RuleSpec
from tests.alerts.evaluation.window.conftest import above, rule


def outcome(*truths: tuple[float, Truth]) -> Outcome:
    times, found = zip(*truths, strict=True)
    return Outcome(
        CLUSTER, np.array(times), np.array(found, np.int8), np.zeros(len(times)), [""] * len(times)
    )


def firing(fired: float, resolved: float | None) -> Firing:
    return Firing(fired, fired, resolved, 1.0, "")


def test_durations_are_counted_with_median_and_shortest() -> None:
    firings = [firing(0, 10), firing(20, 22), firing(50, None)]
    assert durations(firings, 100) == [10, 2, 50]
    assert lasted(durations(firings, 100)) == Lasted(3, 10, 2)
    assert lasted([]) is None


def test_crossings_shorter_than_the_hold_time_are_listed() -> None:
    crossed = outcome(
        (0, Truth.FALSE),
        (10, Truth.TRUE),
        (22, Truth.FALSE),
        (30, Truth.TRUE),
        (35, Truth.UNCHANGED),
        (40, Truth.FALSE),
        (50, Truth.TRUE),
        (90, Truth.FALSE),
        (95, Truth.TRUE),
    )
    firings, _ = advance(None, crossed, 100, 30)
    assert [each.pending for each in firings] == [50]
    assert too_short(crossed, firings, 100) == [12, 10]
    at_once, _ = advance(None, crossed, 100, 0)
    assert too_short(crossed, at_once, 100) == []


@pytest.mark.parametrize(
    ("firings", "flaps"),
    [
        ([], False),
        ([firing(0, 2)], False),
        ([firing(0, 2), firing(2000, 2002)], True),
        ([firing(0, 600), firing(650, 1300)], True),
        ([firing(0, 600), firing(2000, 2600)], False),
    ],
)
def test_repeated_firings_that_are_short_or_close_flap(firings: Sequence[Firing], flaps: bool) -> None:
    assert is_flapping(firings, 5000) == flaps


def test_candidates_to_clear_at_are_beyond_the_threshold_and_the_present_one() -> None:
    of_limit = above(0.9, other=Attribute.MEMORY_LIMIT)
    assert clear_candidates(rule(of_limit)) == [0.855, 0.81, 0.72, 0.63, 0.45]
    lower = above(0.9, other=Attribute.MEMORY_LIMIT, clear_threshold=0.8)
    assert clear_candidates(rule(lower)) == [0.72, 0.63, 0.45]
    below = above(100, comparison=Comparison.BELOW)
    assert clear_candidates(rule(below)) == [105, 110, 120, 130, 150]


def test_candidates_for_counts_are_whole() -> None:
    tasks = "observatory_cluster_tasks"
    assert clear_candidates(rule(above(10, tasks))) == [9, 8, 7, 5]
    assert clear_candidates(rule(above(0, tasks))) == []
    assert clear_candidates(RuleSpec((EventCondition("worker-lost", By.WORKER),))) == []


def test_the_closest_candidate_that_halves_the_firings_is_offered() -> None:
    assert best([13, 9, 6, 1], 13) == 2
    assert best([13, 12, 10], 13) == 2
    assert best([13, 13], 13) is None
    assert best([], 13) is None


def test_only_the_threshold_to_clear_at_of_the_first_condition_changes() -> None:
    spec = rule(above(10), above(20), hold=5)
    assert clearing_at(spec, 8) == rule(above(10, clear_threshold=8), above(20), hold=5)
