"""Simulations of a client that does not wait for all tasks of a round before it submits the next one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from observatory.why.records import Records
from observatory.why.what_if.change import Predictor
from observatory.why.what_if.recorded.plan import plan_of
from observatory.why.what_if.recorded.rates import AT_ONCE
from observatory.why.what_if.without import Without
from tests.why.made_records import Activity, computed, graph, life, recorded, worker

SHORT, LONG, PAUSE = 1.0, 3.0, 0.5
"""seconds of the two tasks of a round, and from its end until the next one is submitted"""
ROUNDS = 4
EVERY = LONG + PAUSE
WAITING = ("waiting", 0.0, ROUNDS * EVERY)
CLIENT: Sequence[Activity] = [("code", 0.0, ROUNDS * EVERY), WAITING]


def rounds(activities: Sequence[Activity] = CLIENT, of_round: int = 2) -> Records:
    """Of two tasks each, on two threads: tasks 2n and 2n + 1."""
    spans = [
        computed(of_round * number + place, number * EVERY, number * EVERY + (LONG if place else SHORT))
        for number in range(ROUNDS)
        for place in range(of_round)
    ]
    transitions = [row for one in spans for row in life(one[1], one[3], one[4], begun=one[3])]
    return recorded([worker(1, 2)], spans, transitions, activities=activities)


def predictor(records: Records, *edges: tuple[int, int]) -> Predictor:
    return Predictor(records, plan_of(records, graph(*edges)), AT_ONCE)


def last_without_waiting(made: Predictor) -> float:
    return made.without(Without(rounds=True)).seconds - (made.observed - made.last)


def test_without_waiting_threads_take_tasks_of_the_next_round() -> None:
    made = predictor(rounds())
    found = made.client_rounds
    assert [(one.start, one.stop, one.next) for one in found] == [
        (number * EVERY * 1e6, (number * EVERY + LONG) * 1e6, (number + 1) * EVERY * 1e6)
        for number in range(ROUNDS - 1)
    ]
    assert {one.count for one in found} == {2}
    # two threads take eight tasks as they come: the last long one begins after six seconds
    assert last_without_waiting(made) == pytest.approx(6 + LONG)


def test_the_clients_own_code_takes_as_long_while_tasks_run() -> None:
    waits = [("waiting", number * EVERY, number * EVERY + LONG + PAUSE / 2) for number in range(ROUNDS)]
    made = predictor(rounds([CLIENT[0], *waits]))
    assert [one.own_seconds for one in made.client_rounds] == [PAUSE / 2] * (ROUNDS - 1)
    assert last_without_waiting(made) == pytest.approx(6 + LONG)


def test_rounds_that_need_those_before_are_not_submitted_earlier() -> None:
    edges = [(2 * number, 2 * number - 1) for number in range(1, ROUNDS)]
    edges += [(2 * number + 1, 2 * number - 1) for number in range(1, ROUNDS)]
    made = predictor(rounds(), *edges)
    assert list(made.client_rounds) == []
    assert last_without_waiting(made) == pytest.approx(made.last)


def test_one_task_that_needs_the_round_before_waits_for_it_on_the_cluster() -> None:
    """As a sum that goes on: most of the next round can begin."""
    made = predictor(rounds(of_round=3), *[(3 * number, 3 * number - 3) for number in range(1, ROUNDS)])
    assert len(made.client_rounds) == ROUNDS - 1
    assert last_without_waiting(made) < made.last


@pytest.mark.parametrize("activities", [(), (CLIENT[0], ("waiting", 0.0, 0.1))])
def test_a_client_that_is_not_known_to_wait_for_the_end_of_a_round_has_none(
    activities: Sequence[Activity],
) -> None:
    """It reads what arrives: the next tasks come when they come."""
    assert list(predictor(rounds(activities)).client_rounds) == []
