"""Tasks that keep threads without using the CPU: they wait for one another, or for something outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.findings.observed.lease_waits import lease_waits
from observatory.why.intervals import Steps
from observatory.why.thread_times.gil import CONTENTION
from observatory.why.what_if.answer import what_if
from tests.support.recorded_cluster import START
from tests.why.findings.kinds.test_kinds import assert_saves, first
from tests.why.findings.simulated import Simulated, futures
from tests.why.made_records import SECOND, computed, recorded

pytestmark = pytest.mark.django_db(transaction=True)

CPU, WAITS = "observatory_worker_task_cpu_percent", "observatory_worker_task_waits"


def using(simulated: Simulated, cpu: float, **waits: float) -> Simulated:
    """The threads of tasks of each worker use that much CPU, and so many wait in what `waits` name."""
    for worker in range(simulated.workers):
        simulated.sample(CPU, cpu, 0, simulated.makespan, worker=worker)
        for name, count in waits.items():
            simulated.sample(WAITS, count, 0, simulated.makespan, worker=worker, **{"in": name})
    return simulated


def test_tasks_that_wait_for_the_network_need_more_threads() -> None:
    tasks = futures(160, 0.5)
    seeded = using(Simulated(tasks), 3.0, connection=2)
    finding = first(seeded.findings(), "waiting-outside")
    assert_saves(finding, seeded, Simulated(tasks, threads=40))
    assert "without using the CPU: they waited for the network or a pipe." in finding["sentence"]
    assert finding["sentence"].endswith("160 threads would have had work, there were 8.")
    assert {"label": "CPU that such a task used", "value": "1.5 % of a core"} in finding["facts"]


def test_requests_that_time_out_are_stragglers_and_not_a_waiting_of_all_as_well() -> None:
    """One of five waits for three seconds more."""
    tasks = [
        replace(one, seconds=3.3) if place % 5 == 0 else one for place, one in enumerate(futures(80, 0.3))
    ]
    assert [one["kind"] for one in using(Simulated(tasks), 3.0, connection=2).findings()] == ["stragglers"]


def test_as_many_threads_would_do_as_use_the_cores_that_there_are() -> None:
    finding = first(using(Simulated(futures(800, 0.5)), 20.0, sleep=2).findings(), "waiting-outside")
    assert "a time that they had set (sleep)" in finding["sentence"]
    assert "80 threads would have had work" in finding["sentence"]


def test_tasks_that_compute_and_wait_in_turns_wait_in_samples_of_both_as_well() -> None:
    """As for a lock of a database: in half of the samples two threads use 0.58 of a core."""
    seeded = Simulated(futures(160, 0.5))
    for worker in range(seeded.workers):
        for second in range(round(seeded.makespan)):
            seeded.sample(CPU, 58.0 if second % 2 else 2.0, second, second + 1, worker=worker)
    finding = first(seeded.findings(), "waiting-outside")
    # of 80 s of tasks: half of 0.99 and of 0.71 of it
    assert finding["thread_seconds"] == pytest.approx(80 * 0.85, rel=0.1)


def contending(simulated: Simulated, share: float) -> Simulated:
    """The threads of each worker contend for Python's lock for a share of the time."""
    for worker in range(simulated.workers):
        simulated.sample(CONTENTION, share, 0, simulated.makespan, worker=worker)
    return simulated


def test_tasks_that_wait_for_half_of_their_time_need_more_threads() -> None:
    """They ask for something and compute with the answer: both threads of a worker use 0.9 of a core."""
    tasks = futures(160, 0.5)
    seeded = contending(using(Simulated(tasks), 90.0, connection=1), 0.02)
    finding = first(seeded.findings(), "waiting-outside")
    # of 80 s of tasks the part without CPU
    assert finding["thread_seconds"] == pytest.approx(80 * 0.55, rel=0.1)


def test_tasks_that_contend_for_the_lock_of_python_wait_for_nothing_outside() -> None:
    found = contending(using(Simulated(futures(160, 0.5)), 90.0), 0.5).findings()
    assert "waiting-outside" not in [one["kind"] for one in found]


@pytest.mark.parametrize("cpu", [200.0, 100.0, 65.0])
def test_tasks_that_use_or_want_the_cpu_wait_for_nothing(cpu: float) -> None:
    assert using(Simulated(futures(160, 0.5)), cpu).findings() == []


def test_a_sample_of_the_time_before_a_task_says_nothing_of_it() -> None:
    """A heartbeat has the mean since the one before, and comes later: the task had not begun then."""
    seeded = Simulated(futures(32, 0.5), submitted=2.0)
    for worker in range(seeded.workers):
        seeded.sample(CPU, 0.0, 0, 2.5, worker=worker)
        seeded.sample(CPU, 200.0, 3.0, seeded.makespan, worker=worker)
    assert "waiting-outside" not in [one["kind"] for one in seeded.findings()]


def test_tasks_that_wait_while_no_other_one_needs_a_thread_cost_nothing() -> None:
    assert using(Simulated(futures(8, 10.0)), 2.0, connection=2).findings() == []


def test_where_the_kernel_tells_nothing_of_threads_nothing_is_said() -> None:
    seeded = Simulated(futures(160, 0.5))
    for worker in range(4):
        seeded.sample("observatory_worker_cpu_percent", 3.0, 0, seeded.makespan, worker=worker)
    assert seeded.findings() == []


def test_what_if_doubts_faster_tasks_where_they_wait_for_a_lock() -> None:
    seeded = using(Simulated(futures(80, 0.5)), 30.0, lock=1)
    with read_connection() as connection:
        found = what_if(connection, Scope(seeded.record()), 0, MAXIMUM_TIME)
    assert any(one.startswith("Tasks waited for locks, maybe Python's own, for ") for one in found["doubts"])


def test_tasks_of_a_process_that_wait_for_its_lock_cost_what_they_wait() -> None:
    # of four threads one has the lock: the others wait
    tasks = futures(80, 2.0)
    seeded = using(Simulated(tasks, workers=2, threads=4), 1.0, lock=3, sleep=1)
    without = Simulated([replace(task, seconds=0.5) for task in tasks], workers=2, threads=4)
    [finding] = seeded.findings()
    assert finding["kind"] == "serialized"
    assert_saves(finding, seeded, without)
    assert finding["least_wall_seconds"] is not None
    assert (
        "for a lock, a condition or a queue of their process, which another task had" in finding["sentence"]
    )
    assert finding["facts"][0]["value"] == "3.0 waited on average, 1.0 did not"
    assert finding["moments"] == [{"label": "they wait from here on", "time": pytest.approx(START, abs=0.5)}]


def test_what_tasks_of_one_worker_have_is_waited_for_on_others_as_well() -> None:
    """As an event of Dask, which the only task that waits for nothing sets."""
    seeded = Simulated(futures(80, 2.0), workers=2, threads=4)
    for worker, waiting in enumerate((3, 4)):
        seeded.sample(CPU, 1.0, 0, seeded.makespan, worker=worker)
        seeded.sample(WAITS, waiting, 0, seeded.makespan, worker=worker, **{"in": "lock"})
    finding = first(seeded.findings(), "serialized")
    assert finding["thread_seconds"] == pytest.approx(7 / 8 * 160, rel=0.05)


def test_a_lock_of_a_file_is_told_from_one_of_a_process() -> None:
    finding = first(using(Simulated(futures(160, 0.5)), 1.0, **{"file-lock": 1.5}).findings(), "serialized")
    assert "waited 1 min for the lock of a file, which another task had" in finding["sentence"]


def test_the_lock_of_a_file_can_be_held_on_another_worker() -> None:
    """On three of four workers all threads wait for it."""
    seeded = Simulated(futures(160, 0.5))
    for worker in range(4):
        seeded.sample(CPU, 100.0 if worker == 0 else 1.0, 0, seeded.makespan, worker=worker)
        waiting = 1.0 if worker == 0 else 2.0
        seeded.sample(WAITS, waiting, 0, seeded.makespan, worker=worker, **{"in": "file-lock"})
    finding = first(seeded.findings(), "serialized")
    assert "waited 1 min 10 s for the lock of a file, which another task had" in finding["sentence"]


def test_tasks_that_all_wait_for_threads_of_their_own_are_not_serialized() -> None:
    """Nobody has what they wait for: they started threads, or another pool, and wait for these."""
    kinds = [one["kind"] for one in using(Simulated(futures(160, 0.5)), 1.0, lock=2).findings()]
    assert kinds == ["waiting-outside"]


def test_threads_that_wait_for_the_gil_are_not_serialized_by_another_lock() -> None:
    seeded = using(Simulated(futures(160, 1.0)), 90.0, lock=1)
    for worker in range(4):
        seeded.sample("observatory_worker_gil_contention_ratio", 1.0, 0, seeded.makespan, worker=worker)
    assert [one["kind"] for one in seeded.findings()] == ["gil"]


def test_a_lock_of_dask_costs_what_tasks_wait_for_it() -> None:
    # of eight threads one has the lock
    seeded = Simulated(futures(80, 4.0))
    seeded.sample("dask_semaphore_pending_leases", 7, 0, seeded.makespan, name="database")
    finding = first(seeded.findings(), "serialized")
    assert_saves(finding, seeded, Simulated(futures(80, 0.5)))
    assert finding["least_wall_seconds"] is not None


def test_only_tasks_that_ran_while_others_waited_can_have_waited_for_a_lease() -> None:
    computing = recorded([], [computed(1, 0, 4), computed(2, 2, 4), computed(3, 4, 8)]).spans
    pending = Steps(np.array([1, 5]) * SECOND, np.array([1.0]))
    assert lease_waits(computing, np.arange(3), pending).tolist() == [1 + 1, 1, 1]
    assert lease_waits(computing, np.array([0]), pending).tolist() == [3, 0, 0]


def test_a_lock_of_dask_is_not_counted_once_more_as_a_lock_of_the_process() -> None:
    seeded = using(Simulated(futures(160, 0.5)), 1.0, lock=1)
    seeded.sample("dask_semaphore_pending_leases", 6, 0, seeded.makespan, name="database")
    [finding] = seeded.findings()
    assert "“database”" in finding["sentence"]


def test_a_lock_that_is_held_for_a_moment_costs_nothing() -> None:
    assert using(Simulated(futures(160, 0.5)), 150.0, lock=0.05).findings() == []


def test_tasks_that_run_one_at_a_time_because_of_a_resource_are_told_its_name() -> None:
    tasks = futures(24, 0.5)
    seeded = Simulated(tasks, workers=1, threads=1, required={"work": {"<db>": 1}})
    # a worker of four threads, and a resource for one task
    seeded.seen = [replace(one, nthreads=4, resources={"<db>": 1.0}) for one in seeded.seen]
    sent = [
        (START + 0.01, key, "queued", "processing", worker, "")
        for _, key, _, to, worker, _ in seeded.transitions
        if to == "processing"
    ]
    seeded.transitions = [row for row in seeded.transitions if row[3] != "processing"] + sent
    seeded.sample("observatory_worker_tasks", 23, 0, seeded.makespan - 0.5, worker=0, state="constrained")
    finding = first(seeded.findings(), "serialized")
    assert finding["sentence"].startswith("Tasks waited for a resource (<db>) of w0 (tcp://10.0.0.0:4000)")
    assert {"label": "w0 (tcp://10.0.0.0:4000)", "value": "<db>: 1"} in finding["facts"]
    assert "--resources" in finding["advice"]
    assert finding["wall_seconds"] == pytest.approx(12 * 3 / 4, rel=0.1)
    assert finding["least_wall_seconds"] <= 12 * 3 / 4 <= finding["most_wall_seconds"]


def test_tasks_that_wait_for_a_resource_while_all_threads_work_cost_nothing() -> None:
    seeded = Simulated(futures(160, 0.5))
    for worker in range(4):
        seeded.sample("observatory_worker_tasks", 9, 0, seeded.makespan, worker=worker, state="constrained")
    assert seeded.findings() == []
