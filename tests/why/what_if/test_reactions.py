"""Simulations of what follows the end of tasks: loops that submit more, and tasks that wait for tasks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from observatory.why.records import Records
from observatory.why.what_if.change import Predictor
from observatory.why.what_if.recorded.plan import Plan, plan_of
from observatory.why.what_if.recorded.rates import AT_ONCE
from observatory.why.what_if.simulation.conditions import Conditions
from observatory.why.what_if.simulation.simulation import Simulation
from observatory.why.what_if.simulation.workers import WorkerSpec
from observatory.why.what_if.without import Without
from tests.why.made_records import (
    MEMORY,
    PROCESSING,
    RELEASED,
    SECOND,
    WAITING,
    Activity,
    computed,
    graph,
    life,
    recorded,
    worker,
)

DELAY = 0.02
"""seconds from the end of a task until the next one is submitted"""
PARTS = 10


def loop(delay: float, *activities: Activity, seconds: float = 1.0) -> Records:
    """Task 0 runs beside ten others: each is submitted `delay` after the end of the one before."""
    every = seconds + delay
    spans = [computed(part, part * every, part * every + seconds) for part in range(1, PARTS + 1)]
    beside = computed(0, 0, (PARTS + 1) * every)
    transitions = [row for one in spans for row in life(one[1], one[3], one[4], begun=one[3])]
    transitions += life(0, 0, beside[4])
    return recorded([worker(1, 4)], [beside, *spans], transitions, activities=activities)


def simulated(made: Plan, factor: float, of: Sequence[int] | range = range(1, PARTS + 1)) -> float:
    """With four threads; tasks of some places take `factor` times as long."""
    seconds = [one * factor if place in of else one for place, one in enumerate(made.seconds.tolist())]
    return Simulation(made, [WorkerSpec(4)], AT_ONCE, Conditions(seconds)).run()


def test_what_a_task_submits_one_by_one_comes_at_once_where_sending_takes_no_time() -> None:
    """But for what a client computes between, and for pauses."""
    spans = [computed(part, 0.04 * part, 0.04 * part + 5) for part in range(PARTS)]
    spans.append(computed(PARTS, 3.0, 8.0))
    transitions = [row for one in spans for row in life(one[1], one[3], one[4], begun=one[3])]
    made = plan_of(recorded([worker(1, PARTS + 1)], spans, transitions), graph())
    at_once = Conditions(made.seconds.tolist(), are_close_at_once=True)
    last = 3.0 - 0.04 * (PARTS - 1)
    assert Simulation(made, [WorkerSpec(PARTS + 1)], AT_ONCE, at_once).run() == pytest.approx(last + 5)


def test_what_was_submitted_at_the_end_of_a_task_follows_that_task() -> None:
    made = plan_of(loop(DELAY), graph())
    assert [one.follows for one in made.submissions] == [-1, -1, *range(1, PARTS)]
    began = 1 + DELAY
    assert simulated(made, 1) == pytest.approx((PARTS + 1) * (1 + DELAY))
    assert simulated(made, 3) == pytest.approx(began + PARTS * 3 + (PARTS - 1) * DELAY)


def test_a_client_that_computes_meanwhile_follows_no_task() -> None:
    """It submits as fast as it reads files, which happens to be as fast as tasks end."""
    busy = [("code", 0.0, 30.0), ("waiting", 30.0, 31.0)]
    made = plan_of(loop(DELAY, *busy), graph())
    assert {one.follows for one in made.submissions} == {-1}
    last = PARTS * (1 + DELAY)
    assert simulated(made, 3) == pytest.approx(last + 3)


def thinking(until: float, threads: int = 2) -> Records:
    """A client whose own code runs for three seconds before each of ten tasks, which take four."""
    spans = [computed(part, 3 * part, 3 * part + 4) for part in range(PARTS)]
    transitions = [row for one in spans for row in life(one[1], one[3], one[4], begun=one[3])]
    activities = [("code", 0.0, until), ("waiting", until, until + 1)]
    return recorded([worker(1, threads)], spans, transitions, activities=activities)


def test_without_its_own_code_a_client_has_a_task_for_each_thread_or_as_many_as_it_had() -> None:
    made = plan_of(thinking(until=28), graph())
    assert made.most_unfinished == 2
    assert [one.own_seconds for one in made.submissions] == [0, *[3] * (PARTS - 1)]
    seconds = made.seconds.tolist()
    workers = [WorkerSpec(5)]
    assert Simulation(made, workers, AT_ONCE, Conditions(seconds)).run() == pytest.approx(27 + 4)
    at_once = Conditions(seconds, has_own_code=False)
    assert Simulation(made, workers, AT_ONCE, at_once).run() == pytest.approx(PARTS / 2 * 4)
    made = plan_of(thinking(until=28, threads=5), graph())
    assert Simulation(made, workers, AT_ONCE, at_once).run() == pytest.approx(PARTS / 5 * 4)


@pytest.mark.parametrize(("until", "after"), [(28, 0), (61, 30)])
def test_what_a_client_computes_after_its_last_task_is_not_there_either(until: float, after: float) -> None:
    records = thinking(until)
    made = Predictor(records, plan_of(records, graph()), AT_ONCE)
    last = 27 + 4
    found = made.without(Without(own_code=True)).seconds
    assert found == pytest.approx(PARTS / 2 * 4 + made.observed - last - after)


def test_what_the_scheduler_sends_once_more_was_submitted_before() -> None:
    """As a shuffle has it: its plugin releases a task that was sent too early."""
    spans = [computed(1, 0, 2), computed(2, 6, 8), computed(1, 20, 22)]
    again = [(2, 5.0, PROCESSING, RELEASED, 0), *life(2, 5.5, 8, begun=5)]
    moves = [*life(1, 0, 2), (2, 0.0, RELEASED, WAITING, 0), (2, 3.0, WAITING, PROCESSING, 1), *again]
    moves += [(1, 10.0, MEMORY, RELEASED, 0), *life(1, 20, 22, begun=20)]
    made = plan_of(recorded([worker()], spans, moves), graph())
    assert [one.places for one in made.submissions] == [[0, 1], [2]]


def test_what_is_submitted_long_after_any_task_has_ended_keeps_its_time() -> None:
    made = plan_of(loop(0.5), graph())
    assert {one.follows for one in made.submissions} == {-1}


def test_where_tasks_end_all_the_time_nothing_is_known_to_follow_one() -> None:
    """A task ends shortly before any submission, whoever submits."""
    made = plan_of(loop(DELAY, seconds=0.04), graph())
    assert {one.follows for one in made.submissions} == {-1}


def one_by_one(ends: float) -> Plan:
    """Task 0 secedes after a tenth of a second, and submits the others; it ends at `ends`."""
    records = loop(DELAY)
    records.spans.seceded[0] = SECOND // 10
    records.spans.times.stop[0] = round(ends * SECOND)
    return plan_of(records, graph())


def test_a_task_that_waits_for_the_tasks_that_it_submits_ends_with_them() -> None:
    last = PARTS * (1 + DELAY) + 1
    made = one_by_one(last + 0.04)
    assert set(made.rests) == {0}
    assert simulated(made, 1) == pytest.approx(last + 0.04)
    # the first one is submitted as long after the task as it was
    assert simulated(made, 0.5) == pytest.approx(1 + DELAY + PARTS * 0.5 + (PARTS - 1) * DELAY + 0.04)


def test_a_task_that_goes_on_for_long_after_them_takes_as_long_as_it_did() -> None:
    last = PARTS * (1 + DELAY) + 1
    made = one_by_one(last + 5)
    assert made.rests == {}
    assert simulated(made, 0.5) == pytest.approx(last + 5)
