"""Windows without a cause: workers that were absent, tasks that took longer, clients that thought."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from observatory.why.intervals import Intervals
from observatory.why.records import OfWorkers, Records, Worker
from observatory.why.thread_times.assignments import stays
from observatory.why.what_if.change import Change, Predictor
from observatory.why.what_if.recorded.plan import plan_of
from observatory.why.what_if.recorded.rates import AT_ONCE
from observatory.why.what_if.recorded.stalls import Stall, stalls
from observatory.why.what_if.recorded.workers import recorded_workers, with_one_that_stays
from observatory.why.what_if.simulation.conditions import Conditions
from observatory.why.what_if.simulation.simulation import Simulation
from observatory.why.what_if.simulation.workers import Absence, AbsenceKind, WorkerSpec
from observatory.why.what_if.without import Shorter, Without
from tests.why.made_records import SECOND, Span, computed, graph, life, recorded, worker

DIED, LEFT, PAUSED = AbsenceKind.DIED, AbsenceKind.LEFT, AbsenceKind.PAUSED


def equal(count: int, seconds: float = 1.0) -> list[Span]:
    """Tasks that run one after the other."""
    return [computed(task, task * seconds, (task + 1) * seconds) for task in range(count)]


def records_of(*spans: Span, workers: list[Worker] | None = None) -> Records:
    transitions = [row for span in spans for row in life(span[1], 0.0, span[4])]
    return recorded(workers or [worker()], spans, transitions)


def predictor_of(records: Records, *edges: tuple[int, int]) -> Predictor:
    return Predictor(records, plan_of(records, graph(*edges)), AT_ONCE)


def simulated(count: int, *absences: Absence, others: int = 0) -> float:
    """One worker with absences, and `others` without any; tasks of a second."""
    plan = plan_of(records_of(*equal(count)), graph())
    specs = [WorkerSpec(1, absences=absences), *[WorkerSpec(1)] * others]
    return Simulation(plan, specs, AT_ONCE, Conditions(plan.seconds.tolist())).run()


def test_a_paused_worker_finishes_what_it_runs_and_begins_nothing() -> None:
    assert simulated(4, Absence(1.5, 5.0, PAUSED, 1)) == pytest.approx(2 + 3 + 2)


def with_stall(records: Records, *edges: tuple[int, int], workers: int = 1) -> float:
    """The task that was submitted last stalls its worker for five seconds, once that has a thread for it."""
    plan = plan_of(records, graph(*edges))
    stall = Stall(1, 0, 5 * SECOND, (len(plan) - 1,), 0)
    conditions = Conditions(plan.seconds.tolist(), stalls=[stall])
    return Simulation(plan, [WorkerSpec(1)] * workers, AT_ONCE, conditions).run()


def test_a_worker_whose_event_loop_is_blocked_begins_nothing() -> None:
    assert with_stall(records_of(*equal(4))) == pytest.approx(3 + 5 + 1), "the others had begun"
    assert with_stall(records_of(*equal(5)), workers=2) == pytest.approx(2 + 5 + 1), "the other goes on"


def test_what_ends_while_an_event_loop_is_blocked_is_reported_afterwards() -> None:
    """The second task needs the first; the third comes meanwhile, and stalls the worker when that ends."""
    spans = [computed(1, 0, 1), computed(2, 1, 2), computed(3, 2, 3)]
    transitions = [*life(1, 0, 1), *life(2, 0, 2), *life(3, 0.5, 3, begun=0.5)]
    made = recorded([worker()], spans, transitions)
    assert with_stall(made, (2, 1)) == pytest.approx(1 + 5 + 2)


def test_a_worker_that_dies_loses_what_it_runs_and_others_take_its_tasks() -> None:
    assert simulated(4, Absence(1.5, 5.0, DIED, 1)) == pytest.approx(5 + 3), "half a task was lost"
    assert simulated(4, Absence(0.5, math.inf, DIED, 1), others=1) == pytest.approx(4)


def test_a_worker_that_leaves_finishes_what_it_runs_and_others_take_the_rest() -> None:
    assert simulated(5, Absence(0.5, math.inf, LEFT, 1), others=1) == pytest.approx(4)


def test_a_worker_that_dies_twice_begins_anew_each_time() -> None:
    assert simulated(2, Absence(0.5, 1.0, DIED, 1), Absence(1.5, 2.0, DIED, 1)) == pytest.approx(4)


def test_workers_of_which_none_stays_stay() -> None:
    gone = Absence(1.0, math.inf, DIED, 1)
    short = Absence(0.2, 0.4, PAUSED, 1)
    [kept] = with_one_that_stays([WorkerSpec(1, absences=(short, gone))])
    assert kept.absences == (short,)
    specs = [WorkerSpec(1, absences=(gone,)), WorkerSpec(1)]
    assert with_one_that_stays(specs) == specs


def test_a_restarted_worker_is_one_that_was_absent_meanwhile() -> None:
    lives = [worker(1, 2, stop=10, ended=True, slot="a", died=True), worker(2, 2, start=14, slot="a")]
    pauses = OfWorkers(np.array([2]), Intervals.of(np.array([20 * SECOND]), np.array([30 * SECOND])))
    made = records_of(*equal(2), workers=lives)
    made.pauses.__init__(pauses.worker, pauses.times)  # type: ignore[misc]
    [spec] = recorded_workers(made)
    assert spec == WorkerSpec(2, 0.0, (Absence(10.0, 14.0, DIED, 1), Absence(20.0, 30.0, PAUSED, 2)))


def stalled(*spans: Span, **others: Any) -> list[tuple[float, float, int]]:
    """The stalls of a worker to which tasks were sent at second 1, and how many computations waited."""
    transitions = [row for span in spans for row in life(span[1], 1.0, span[4])]
    records = recorded([worker()], spans, transitions, **others)
    found = stalls(records, plan_of(records, graph()).computing, stays(records))
    return [(one.start / SECOND, one.stop / SECOND, len(one.places)) for one in found]


def test_a_worker_that_has_tasks_and_computes_none_is_stalled() -> None:
    assert stalled(computed(0, 3, 4), computed(1, 4.1, 5), computed(2, 7, 8)) == [
        (1.0, 3.0, 3),
        (5.0, 7.0, 1),
    ]
    assert stalled(computed(0, 1.2, 4), computed(1, 4.4, 5)) == []


def test_a_worker_that_waits_for_data_or_is_paused_is_not_stalled() -> None:
    late = computed(0, 3, 4)
    assert stalled(late, transfers=[(1, 0.1, 2.9)]) == []
    assert stalled(late, transfers=[(1, 0.0, 1.5)]) == [(1.5, 3.0, 1)]
    assert stalled(late, pauses=[(1, 0.0, 2.8)]) == []


def test_a_window_whose_workers_began_late_is_simulated_as_it_was_and_without_that() -> None:
    spans = [computed(0, 7, 8), computed(1, 8, 9)]
    transitions = [*life(0, 1, 8, begun=1), *life(1, 1, 9, begun=1)]
    records = recorded([worker()], spans, transitions)
    plan = plan_of(records, graph())
    found = stalls(records, plan.computing, stays(records))
    made = Predictor(records, plan, AT_ONCE, stalls=found)
    assert made.misfit == pytest.approx(0, abs=0.01)
    assert made.observed - made.without(Without(stalls=frozenset({1}))).seconds == pytest.approx(6, rel=0.05)


def test_without_what_made_tasks_longer_the_window_is_as_much_shorter() -> None:
    made = predictor_of(records_of(*equal(4)))
    without = Without((Shorter(np.array([1, 3]), np.array([0.5, 0.75])),))
    assert made.observed - made.without(without).seconds == pytest.approx(1.25)
    assert made.without(without).least < made.without(without).seconds < made.without(without).most


def test_tasks_are_never_shorter_than_nothing_and_the_window_never_longer() -> None:
    made = predictor_of(records_of(*equal(4)))
    assert made.observed - made.without(Without((Shorter(np.arange(4), np.full(4, 9.0)),))).seconds <= 4
    longer = Without((Shorter(np.arange(4), np.full(4, -9.0)),))
    assert made.without(longer).seconds == made.observed


def test_without_the_client_there_is_no_time_between_its_tasks_nor_after_them() -> None:
    spans = [computed(1, 0, 4), computed(2, 10, 12)]
    transitions = [*life(1, 0, 4), *life(2, 10, 12, begun=10)]
    made = predictor_of(recorded([worker()], spans, transitions))
    assert made.observed == 100
    assert made.without(Without(client=True)).seconds == pytest.approx(6)


def test_workers_that_came_late_would_have_been_there() -> None:
    late = [worker(1, 1, start=50)]
    made = predictor_of(records_of(computed(1, 50, 60), computed(2, 60, 70), workers=late))
    assert made.without(Without(late=True)).seconds == pytest.approx(20 + 30)
    assert made.predict(Change(from_start=True)).seconds == pytest.approx(20 + 30)


def test_all_together_leaves_out_what_each_does() -> None:
    shorter = Shorter(np.array([0]), np.array([1.0]))
    both = Without.of_all([
        Without((shorter,), disk=frozenset({1}), threads=2),
        Without((shorter,), transfers=True, absences=frozenset({(DIED, 2)}), threads=4),
    ])  # fmt: skip
    assert both == Without(
        (shorter, shorter),
        transfers=True,
        disk=frozenset({1}),
        absences=frozenset({(DIED, 2)}),
        threads=4,
    )


def test_a_task_that_seceded_is_shorter_by_what_it_does_without_its_thread_too() -> None:
    records = recorded([worker()], [computed(1, 0, 50)])
    records.spans.seceded[0] = SECOND
    predicted = predictor_of(records).without(Without((Shorter(np.array([0]), np.array([40.0])),)))
    assert predicted.seconds == pytest.approx(60)
