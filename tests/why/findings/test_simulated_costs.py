"""A finding costs what the window would have taken less without its cause, as a simulation says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.findings import simulated_costs
from observatory.why.findings.answer import findings
from observatory.why.findings.lines import lines_of
from observatory.why.what_if.recorded import reading
from tests.why.findings.kinds.test_kinds import assert_saves, first
from tests.why.findings.simulated import Simulated, Task, futures

pytestmark = pytest.mark.django_db(transaction=True)


def with_long(tasks: list[Task], seconds: float, *keys: str) -> list[Task]:
    return [replace(task, seconds=seconds) if task.key in keys else task for task in tasks]


def test_a_long_task_at_the_beginning_costs_what_the_others_could_not_do_beside_it() -> None:
    """Its sum is 9.5 s of one thread of eight; other threads compute beside it for most of that.

    Tasks are sent, and end, 10 ms after each other: no worker reports some together.
    """
    tasks = futures(80, 0.5)
    seeded = Simulated(with_long(tasks, 10.0, "work-0"), overhead=0.01)
    without = Simulated(tasks, overhead=0.01)
    finding = first(seeded.findings(), "stragglers")
    assert_saves(finding, seeded, without)
    saved = seeded.makespan - without.makespan
    assert finding["least_wall_seconds"] <= saved <= finding["most_wall_seconds"]


def chains(count: int, length: int) -> list[Task]:
    """Chains of tasks, beside each other."""
    return [
        Task(f"step{chain}-{place}", 0.5, (f"step{chain}-{place - 1}",) if place else ())
        for chain in range(count)
        for place in range(length)
    ]


def test_causes_beside_each_other_explain_the_time_only_together() -> None:
    """Two chains have a long task each: without one of them, the other one takes as long."""
    tasks = [*chains(8, 24)]
    seeded = Simulated(with_long(tasks, 12.0, "step0-3", "step1-3"))
    saved = seeded.makespan - Simulated(tasks).makespan
    found = [one for one in seeded.findings() if one["kind"] == "stragglers"]
    assert len(found) == 2
    for one in found:
        assert one["wall_seconds"] < 0.2 * saved
        assert one["together_seconds"] == pytest.approx(saved, rel=0.3)
    answer: Any = {"findings": found, "has_agent": True}
    assert sum("Only together do findings explain the time" in line for line in lines_of(answer)) == 2


def test_what_saves_nothing_with_the_other_causes_either_is_none_of_them() -> None:
    """A long task of a chain that ends long before the others, whichever of these are long as well."""
    tasks = [one for one in chains(8, 24) if not (one.key.startswith("step7-") and int(one.key[6:]) > 5)]
    long = with_long(tasks, 12.0, "step0-3", "step1-3")
    seeded = Simulated(with_long(long, 7.5, "step7-3"))
    assert seeded.makespan == pytest.approx(Simulated(long).makespan, rel=0.02)
    found = [one for one in seeded.findings() if one["kind"] == "stragglers"]
    prefixes = sorted(task["key"] for one in found for task in one["tasks"])
    assert prefixes == ["step0-3", "step1-3"]


def not_simulated(seeded: Simulated, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The findings, as where the window has too many tasks to be simulated."""
    monkeypatch.setattr(reading, "MOST_COMPUTATIONS", 10)
    with read_connection() as connection:
        found: list[dict[str, Any]] = findings(connection, Scope(seeded.record()), 0, MAXIMUM_TIME)[
            "findings"
        ]
        return found


def test_what_nothing_waited_for_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks take long while one runs that takes longer."""
    tasks = [Task("all-0", 40.0), *futures(150, 0.5)]
    seeded = Simulated(with_long(tasks, 8.0, "work-3", "work-4", "work-5"))
    assert seeded.makespan == pytest.approx(Simulated(tasks).makespan, rel=0.02)
    assert "stragglers" not in [one["kind"] for one in seeded.findings()]
    assert "stragglers" in [one["kind"] for one in not_simulated(seeded, monkeypatch)]


def test_a_cost_that_is_not_simulated_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = with_long(futures(64, 0.5), 8.5, "work-60")
    finding = first(not_simulated(Simulated(tasks), monkeypatch), "stragglers")
    assert finding["least_wall_seconds"] is finding["most_wall_seconds"] is None
    assert finding["wall_seconds"] == pytest.approx(finding["thread_seconds"] / 8, rel=0.2)
    answer: Any = {"findings": [finding], "has_agent": True}
    assert any(line.endswith("in all, as a sum of times.") for line in lines_of(answer))


def test_as_many_findings_are_simulated_as_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = with_long(futures(80, 0.5, "a") + futures(80, 0.5, "b"), 9.0, "a-79", "b-79")
    monkeypatch.setattr(simulated_costs, "MOST_SIMULATED", 2 * 160)
    found = [one for one in Simulated(tasks).findings() if one["kind"] == "stragglers"]
    assert [one["least_wall_seconds"] is None for one in found].count(False) == 1
