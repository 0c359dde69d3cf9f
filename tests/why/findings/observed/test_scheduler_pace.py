"""A scheduler that takes long for each change of a task's state, as where a plugin keeps it."""

from __future__ import annotations

import numpy as np
import pytest

from observatory.why.findings.observed.scheduler_pace import seconds_of_change
from tests.why.findings.kinds.test_kinds import first
from tests.why.findings.simulated import Simulated, futures

TICKS = "observatory_scheduler_event_loop_interval_seconds"
OWN = "observatory_scheduler_event_loop_own_interval_seconds"
OF_WORKERS = "observatory_worker_event_loop_interval_seconds"


def times(*gaps: float) -> np.ndarray:
    return np.round(np.cumsum(gaps) * 1e6).astype(np.int64)


def test_changes_that_all_take_about_as_long_tell_how_long_each_takes() -> None:
    gaps = [0.01 + 0.001 * (place % 5) for place in range(300)]
    assert seconds_of_change(times(*gaps)) == pytest.approx(0.012)


def test_changes_that_follow_each_other_at_once_or_by_chance_tell_nothing() -> None:
    at_once = [0.3 if place % 2 else 50e-6 for place in range(300)]
    assert seconds_of_change(times(*at_once)) == 0
    by_chance = np.random.default_rng(7).exponential(0.02, 300)
    assert seconds_of_change(times(*by_chance)) == 0
    assert seconds_of_change(times(*[0.01] * 99)) == 0


def kept_at_each_change() -> Simulated:
    """Tasks of 15 ms, and ten milliseconds or more for each change of a task's state."""
    seeded = Simulated(futures(300, 0.015), overhead=0.03)
    first_change = min(row[0] for row in seeded.transitions)
    early = sorted(row for row in seeded.transitions if row[0] < first_change + 0.01)
    rest = [row for row in seeded.transitions if row[0] >= first_change + 0.01]
    # each change before the first task takes ten milliseconds as well
    spaced = [(row[0] - 0.01 * (len(early) - place), *row[1:]) for place, row in enumerate(early)]
    seeded.transitions = [*spaced, *rest]
    return seeded


@pytest.mark.django_db(transaction=True)
def test_a_plugin_that_keeps_the_scheduler_at_each_change_is_not_hidden_by_small_tasks() -> None:
    """The ticks of the event loop alone would not tell it from tasks that are too small."""
    seeded = kept_at_each_change()
    seeded.sample(TICKS, 0.055, 0, seeded.makespan)
    found = seeded.findings()
    assert first(found, "scheduler-busy")
    assert "small-tasks" not in [one["kind"] for one in found]
    assert " ms for each change of a task's state." in found[0]["sentence"]


@pytest.mark.django_db(transaction=True)
def test_what_keeps_the_scheduler_at_each_change_is_not_due_to_a_busy_machine() -> None:
    costs = []
    for ticks in (0.055, 0.22):
        seeded = kept_at_each_change()
        seeded.sample(TICKS, ticks, 0, seeded.makespan)
        seeded.sample(OWN, 0.055, 0, seeded.makespan)
        costs.append(first(seeded.findings(), "scheduler-busy")["wall_seconds"])
    assert costs[1] == pytest.approx(costs[0], rel=0.02)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("of_workers", "kinds"), [(0.02, ["scheduler-busy"]), (0.3, [])])
def test_a_scheduler_is_not_busy_where_all_processes_wait_for_the_machine(
    of_workers: float, kinds: list[str]
) -> None:
    seeded = Simulated(futures(160, 0.5), overhead=0.15)
    seeded.sample(TICKS, 0.4, 0, seeded.makespan)
    for worker in range(4):
        seeded.sample(OF_WORKERS, of_workers, 0, seeded.makespan, worker=worker)
    found = [one["kind"] for one in seeded.findings()]
    assert [kind for kind in found if kind == "scheduler-busy"] == kinds


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("own", "kinds"), [(0.3, ["scheduler-busy"]), (0.02, [])])
def test_a_scheduler_without_a_core_is_not_busy(own: float, kinds: list[str]) -> None:
    """Its ticks come as late in both cases; whether the workers' do doesn't matter where this is known."""
    seeded = Simulated(futures(160, 0.5), overhead=0.15)
    seeded.sample(TICKS, 0.4, 0, seeded.makespan)
    seeded.sample(OWN, own, 0, seeded.makespan)
    for worker in range(4):
        seeded.sample(OF_WORKERS, 0.3 if kinds else 0.02, 0, seeded.makespan, worker=worker)
    found = [one["kind"] for one in seeded.findings()]
    assert [kind for kind in found if kind == "scheduler-busy"] == kinds
