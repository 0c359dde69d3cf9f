"""Workers that were not there while tasks waited for threads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from observatory.wire.records import Event, WorkerSeen
from tests.support.recorded_cluster import START
from tests.why.findings.kinds.test_kinds import assert_saves, first
from tests.why.findings.simulated import GIB, Death, Simulated, futures, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)


def test_workers_that_all_come_late_cost_the_time_until_then() -> None:
    tasks = futures(64, 0.5)
    seeded = Simulated(tasks, joins=dict.fromkeys(range(4), 6.0))
    finding = first(seeded.findings(), "late-workers")
    assert_saves(finding, seeded, Simulated(tasks))
    assert finding["sentence"].startswith(
        "There was no worker when tasks came, and the first one after 6.00 s, the last of 4 after 6.00 s. "
        "Tasks of work waited for them"
    )
    assert finding["moments"][0]["time"] == pytest.approx(START + 6)


def test_workers_that_are_not_ready_when_they_join_are_late_until_they_are() -> None:
    """They set up their plugins: Dask sends them no tasks before."""
    tasks = futures(64, 0.5)
    seeded = Simulated(tasks, joins=dict.fromkeys((1, 2, 3), 6.0))
    seeded.seen = [replace(one, time=min(one.time, START + 1.0)) for one in seeded.seen]
    for one in seeded.seen[1:]:
        ready = {"before": "init", "status": "running"}
        seeded.events.append(Event(START + 6.0, "worker-status", one.address, ready))
    finding = first(seeded.findings(), "late-workers")
    assert_saves(finding, seeded, Simulated(tasks))
    assert "1 of 4 workers was there when tasks came, the last of 4 after 6.00 s." in finding["sentence"]


def test_workers_that_come_one_by_one_are_told_with_the_time_of_each() -> None:
    tasks = futures(80, 0.5)
    seeded = Simulated(tasks, joins={1: 2.0, 2: 4.0, 3: 6.0})
    seeded.events += [Event(START + 0.1, "adaptive-target", "", {"target": 40})]
    finding = first(seeded.findings(), "late-workers")
    assert_saves(finding, seeded, Simulated(tasks))
    assert "1 of 4 workers was there when tasks came, the last of 4 after 6.00 s." in finding["sentence"]
    told = {fact["label"]: fact["value"] for fact in finding["facts"]}
    assert told["worker 2 there after"] == "2.00 s"
    assert told["worker 4 there after"] == "6.00 s"
    assert told["workers wanted by adaptive scaling"] == "40 at most"


def test_workers_that_come_just_before_the_end_were_late_as_well() -> None:
    seeded = Simulated(futures(40, 0.5), workers=4, joins=dict.fromkeys((1, 2, 3), 9.7))
    assert first(seeded.findings(), "late-workers")["sentence"].startswith(
        "1 of 4 workers was there when tasks came, the last of 4 after 9.70 s."
    )


def test_workers_that_were_on_their_way_when_the_work_was_done_were_late_as_well() -> None:
    """Their processes had begun: somebody had asked for them."""
    tasks = futures(40, 0.5)
    seeded = Simulated(tasks, workers=1)
    begun = {"process_started": START + 2.0}
    for number in (1, 2, 3):
        address, arrives = f"tcp://10.0.0.{number}:4000", START + seeded.makespan + number
        seeded.seen.append(WorkerSeen(address, f"w{number}", "10.0.0.1", 2, GIB, arrives, detail=begun))
    finding = first(seeded.findings(), "late-workers")
    assert_saves(finding, seeded, Simulated(tasks))
    assert finding["sentence"].startswith(
        "1 of 4 workers was there when tasks came, the last of 4 after 13.0 s, "
        "3 of them when the work was done. Tasks of work waited for them"
    )


def test_workers_that_were_asked_for_after_the_work_were_not_late() -> None:
    seeded = Simulated(futures(40, 0.5), workers=1)
    begun = START + seeded.makespan + 1
    seeded.seen.append(
        WorkerSeen(
            "tcp://10.0.0.1:4000", "w1", "10.0.0.1", 2, GIB, begun + 1, detail={"process_started": begun}
        )
    )
    assert seeded.findings() == []


def test_workers_that_leave_while_tasks_wait_are_missed() -> None:
    tasks = futures(160, 0.5)
    seeded = Simulated(tasks, leaves={2: 3.0, 3: 3.0})
    finding = first(seeded.findings(), "late-workers")
    assert_saves(finding, seeded, Simulated(tasks))
    assert finding["sentence"].startswith("2 workers left in order before the work was done: w")
    assert "`minimum`" in finding["advice"]


def test_workers_that_leave_or_come_when_nothing_waits_are_not_missed() -> None:
    """As adaptive scaling takes them away during the last tasks."""
    assert Simulated(map_reduce(64, 0.5), leaves={3: 6.2}).findings() == []
    found = Simulated(futures(6, 6.0), joins={3: 1.0}).findings()
    assert [one["kind"] for one in found] == ["few-tasks"]


def test_a_worker_that_is_replaced_before_it_leaves_is_not_missed() -> None:
    """As where jobs of a batch system end: for a moment there is one more."""
    tasks = futures(320, 0.5)
    assert Simulated(tasks, workers=5, joins={4: 10.0}, leaves={0: 10.2}).findings() == []


def test_what_a_death_costs_is_not_counted_once_more() -> None:
    tasks = map_reduce(64, 1.0)
    seeded = Simulated(tasks, deaths=[Death(2, 10.4, restarts_after=6)])
    assert [one["kind"] for one in seeded.findings()] == ["worker-died"]


def test_workers_that_come_back_too_late_and_are_closed_are_told_apart_from_the_dead() -> None:
    """A cluster object closes them: the dead ones before them did not leave in order."""
    seeded = Simulated(
        futures(400, 0.5),
        deaths=[Death(2, 4.0, restarts_after=16.0), Death(3, 5.0, restarts_after=16.0)],
        leaves={2: 21.0, 3: 22.0},
    )
    finding = next(one for one in seeded.findings() if one["kind"] == "late-workers")
    assert finding["sentence"].startswith("2 workers left in order before the work was done: w2")
    assert "2 of them came in place of dead ones and were closed at once." in finding["sentence"]
    assert "lost-worker-timeout" in finding["advice"]
    times = [fact["value"] for fact in finding["facts"] if "the one before" in fact["value"]]
    assert times == [
        "after 21.0 s, had joined 16.0 s after the death of the one before",
        "after 22.0 s, had joined 16.0 s after the death of the one before",
    ]
