"""Tasks that take turns in something that isn't known: their ends follow each other at equal times."""

from __future__ import annotations

import numpy as np
import pytest

from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from tests.support.recorded_cluster import START
from tests.why.findings.kinds.test_kinds import assert_saves, first
from tests.why.findings.simulated import Simulated, Task, found_in, futures

pytestmark = pytest.mark.django_db(transaction=True)

THREADS, COUNT = 8, 80
OWN, HELD = 0.15, 0.15
"""seconds of a task before it wants a lock, and for which it has that until its end"""


def in_turn() -> list[Task]:
    """The tasks of the threads as they come: all wait for the lock that one has."""
    seconds = [OWN + HELD * min(place + 1, THREADS) for place in range(COUNT)]
    return [
        Task(f"write-{place}", one if place < THREADS else THREADS * HELD)
        for place, one in enumerate(seconds)
    ]


def test_tasks_whose_ends_follow_each_other_at_equal_times_take_turns() -> None:
    seeded = Simulated(in_turn())
    finding = first(seeded.findings(), "serialized")
    assert "Tasks of write took turns: one of them ended every 151 ms" in finding["sentence"]
    assert_saves(finding, seeded, Simulated(futures(COUNT, OWN + HELD, "write")))


@pytest.mark.parametrize("locked", [0, 1.6])
def test_tasks_that_take_turns_at_an_actor_wait_for_its_answers(locked: float) -> None:
    """Also where samples see all of them in a lock, as long as an answer takes by itself."""
    seeded = Simulated(in_turn())
    for worker in range(seeded.workers if locked else 0):
        seeded.sample("observatory_worker_task_cpu_percent", 2.0, 0, seeded.makespan, worker=worker)
        waits = {"in": "lock"}
        seeded.sample("observatory_worker_task_waits", locked, 0, seeded.makespan, worker=worker, **waits)
    cluster = seeded.record()
    stack = "save\tetl.py\t6\nresult\t/lib/distributed/actor.py\t280\nwait\tthreading.py\t324"
    profile = [(START + 1, "tcp://10.0.0.0:4000", "task", "write", stack, 40)]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, committed=START + 30, rows={"profile": profile}))
    with read_connection() as connection:
        finding = first(found_in(connection, Scope(cluster)), "serialized")
    assert "longer, as for an answer of an actor. " in finding["sentence"]
    assert finding["advice"].startswith("An actor runs one method at a time")


def test_turns_are_told_whole_where_samples_see_a_lock_in_a_part_of_the_tasks() -> None:
    """One of four workers has what the others ask for: its own tasks wait for a lock of their process."""
    seeded = Simulated(in_turn())
    for worker in range(seeded.workers):
        seeded.sample("observatory_worker_task_cpu_percent", 2.0, 0, seeded.makespan, worker=worker)
    waits = "observatory_worker_task_waits"
    seeded.sample(waits, 1, 0, seeded.makespan, worker=0, **{"in": "lock"})
    finding = first(seeded.findings(), "serialized")
    assert "Tasks of write took turns" in finding["sentence"]
    assert_saves(finding, seeded, Simulated(futures(COUNT, OWN + HELD, "write")))


def test_a_task_that_takes_long_by_itself_does_not_wait_for_its_turn_meanwhile() -> None:
    tasks = [*in_turn(), Task("write-80", 12.0)]
    turn, _ = sorted(Simulated(tasks).findings(), key=lambda one: str(one["kind"]))
    without_it = first(Simulated(in_turn()).findings(), "serialized")
    assert turn["thread_seconds"] == pytest.approx(without_it["thread_seconds"], rel=0.05)


def test_more_threads_are_no_advice_where_tasks_take_turns() -> None:
    seeded = Simulated(in_turn())
    for worker in range(seeded.workers):
        seeded.sample("observatory_worker_task_cpu_percent", 2.0, 0, seeded.makespan, worker=worker)
    assert [one["kind"] for one in seeded.findings()] == ["serialized"]


@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_tasks_that_end_together_or_by_chance_take_no_turns(spread: float) -> None:
    """Of equal tasks those of all threads end one after the other, and then none for as long as they take."""
    lengths = 1.2 + spread * np.random.default_rng(1).uniform(-1, 1, COUNT)
    tasks = [Task(f"write-{place}", float(one)) for place, one in enumerate(lengths)]
    assert Simulated(tasks).findings() == []


def test_tasks_that_come_one_by_one_wait_for_nothing() -> None:
    """A scheduler that needs 0.15 s for each lets them begin, and end, at equal times."""
    seeded = Simulated(futures(COUNT, 1.0), overhead=0.15)
    assert "serialized" not in [one["kind"] for one in seeded.findings()]


def test_tasks_that_compute_all_the_time_wait_for_no_turn() -> None:
    """Their lengths differ by as much as their ends."""
    seeded = Simulated(in_turn())
    for worker in range(seeded.workers):
        seeded.sample("observatory_worker_task_cpu_percent", 200.0, 0, seeded.makespan, worker=worker)
    assert "serialized" not in [one["kind"] for one in seeded.findings()]
