"""Simulations without spilling: workers write results on the event loops that begin their tasks."""

from __future__ import annotations

import pytest

from observatory.why.records import Records
from observatory.why.thread_times.assignments import stays
from observatory.why.what_if.change import Change, Predictor
from observatory.why.what_if.recorded.plan import plan_of
from observatory.why.what_if.recorded.rates import Rates, Spilling, without_spilling
from observatory.why.what_if.recorded.stalls import Stall
from observatory.why.what_if.without import Without
from tests.why.made_records import LENGTH, SECOND, computed, graph, life, recorded, worker

COUNT, SPILLED = 20, 10
"""tasks of one second, and the first of them after which the worker has spilled results"""
QUICK, SLOW = 0.01, 0.08
"""seconds between two tasks of a thread, before and after"""
RATES = Rates(sending=0.05, turning=SLOW, deciding=0, fetching=0.09, bandwidth=1e8)


def records() -> Records:
    spans, begin = [], 0.0
    for task in range(COUNT):
        spans.append(computed(task, begin, begin + 1))
        begin += 1 + (QUICK if task < SPILLED else SLOW)
    transitions = [row for one in spans for row in life(one[1], 0.01, one[4])]
    return recorded([worker(1, 1)], spans, transitions)


def predictor(stalls: list[Stall]) -> Predictor:
    made = records()
    plan = plan_of(made, graph())
    spilled = {1: int(plan.computing.times.start[SPILLED])}
    rates = without_spilling(RATES, made, plan, stays(made), spilled)
    return Predictor(made, plan, RATES, stalls=stalls, spilling=Spilling(rates, spilled))


def test_without_spilling_a_worker_begins_tasks_as_before_it_spilled() -> None:
    made = records()
    plan = plan_of(made, graph())
    spilled = {1: int(plan.computing.times.start[SPILLED])}
    found = without_spilling(RATES, made, plan, stays(made), spilled)
    assert found.turning == pytest.approx(QUICK)
    assert found.bandwidth == RATES.bandwidth
    assert without_spilling(RATES, made, plan, stays(made), {}) == RATES


def test_what_spilling_kept_the_event_loop_from_is_not_there_without_it() -> None:
    made = predictor([])
    for found in (made.without(Without(disk=frozenset({1}))), made.predict(Change(unlimited_memory=True))):
        assert found.seconds < LENGTH - 0.9 * (COUNT - 1) * (SLOW - QUICK) / 2
    assert made.without(Without()).seconds == pytest.approx(LENGTH)


@pytest.mark.parametrize(("start", "is_there"), [(2.0, True), (15.0, False)])
def test_a_stall_while_a_worker_spills_is_not_there_without_it(start: float, is_there: bool) -> None:
    begin = round(start * SECOND)
    stall = Stall(1, begin, begin + 3 * SECOND, (int(start),), begin)
    saved = LENGTH - predictor([stall]).without(Without(disk=frozenset({1}))).seconds
    assert (saved < 1.5) is is_there
