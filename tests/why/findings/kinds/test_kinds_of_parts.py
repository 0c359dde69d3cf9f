"""Causes that are in a part of a run, at the client, or at what tasks wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.store.connection import read_connection
from observatory.wire.records import Event
from tests.support.recorded_cluster import START, at
from tests.why.findings.kinds.test_kinds import assert_saves, first
from tests.why.findings.simulated import Simulated, Task, found_in, futures, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)


def tail(steps: int, seconds: float, width: int = 1) -> list[Task]:
    """64 tasks, and `steps` after them; with a `width` each of these is split."""
    tasks = futures(64, 0.5)
    before = tuple(task.key for task in tasks)
    for step in range(steps):
        keys = tuple(f"finish-{step}-{place}" for place in range(width))
        tasks += [Task(key, seconds / width, before) for key in keys]
        before = keys
    return tasks


def findings_of_run(simulated: Simulated, after: float = 0.0) -> Sequence[dict[str, Any]]:
    """As of a run, until `after` seconds after its last task."""
    cluster: Cluster = simulated.record()
    run = Run.objects.create(
        cluster=cluster, name="nightly", origin="cut", start=at(0), stop=at(simulated.makespan + after)
    )
    start, stop = (round(time.timestamp() * 1e6) for time in (run.start, run.stop))
    with read_connection() as connection:
        return found_in(connection, Scope(cluster, start, stop, run=run.pk))


def test_a_serial_tail_after_a_wide_stage_is_a_narrow_stage() -> None:
    seeded, without = Simulated(tail(6, 1.0)), Simulated(tail(6, 1.0, width=8))
    finding = first(seeded.findings(), "narrow-stage")
    assert_saves(finding, seeded, without)
    assert "there was work for 1.0 of 8 threads on average, of finish" in finding["sentence"]
    assert all(task["key"].startswith("finish") for task in finding["tasks"][:5])
    assert first(without.findings() or [{"kind": ""}], "")


def test_a_merge_between_two_wide_stages_is_a_narrow_stage() -> None:
    tasks = tail(1, 5.0)
    seeded = Simulated([*tasks, *(Task(f"use-{place}", 0.5, ("finish-0-0",)) for place in range(64))])
    finding = first(seeded.findings(), "narrow-stage")
    assert finding["wall_seconds"] == pytest.approx(5.0 * 7 / 8, rel=0.1)
    assert finding["moments"][0]["time"] == pytest.approx(START + 4, abs=0.5)


def test_a_reduction_has_no_narrow_stage() -> None:
    assert Simulated(map_reduce(128, 0.5)).findings() == []


def test_a_client_that_takes_its_time_after_each_round_takes_a_share_of_the_run() -> None:
    simulated = Simulated(futures(16, 0.5))
    simulated.sample("observatory_worker_cpu_percent", 2.0, 0, 10, worker=1)
    finding = first(findings_of_run(simulated, after=4.0), "client")
    assert finding["wall_seconds"] == pytest.approx(4.0, rel=0.05)
    assert finding["sentence"].startswith("For 4.00 s of 5.0")
    assert "no client had submitted any for 4.00 s" in finding["sentence"]
    # half an hour of a cluster that nobody uses is not a run
    assert Simulated(futures(16, 0.5)).findings() == []


def trickling(*waiting: tuple[float, float]) -> Simulated:
    """A client submits two tasks at a time, for eight threads. `waiting`: when it is in calls of Dask."""
    simulated = Simulated(futures(2, 0.5, "ask0"))
    for number in range(1, 20):
        simulated.then(futures(2, 0.5, f"ask{number}"))
    simulated.activities = [
        (0.0, simulated.makespan, "", "code"),
        *((*one, "", "waiting") for one in waiting),
    ]
    return simulated


def test_a_client_whose_own_code_runs_before_it_submits_more_is_the_cause() -> None:
    finding = first(findings_of_run(trickling((0.0, 0.05))), "client")
    assert "the client's own code ran before it submitted more: " in finding["sentence"]
    assert " of 8 threads were idle meanwhile, and no task waited." in finding["sentence"]
    # eight threads instead of two, and no tenth of a second between two rounds
    saved = 20 * 0.6 - 40 * 0.5 / 8
    assert finding["wall_seconds"] == pytest.approx(saved, rel=0.05)
    assert finding["least_wall_seconds"] <= saved <= finding["most_wall_seconds"]


def test_a_part_of_a_run_in_which_its_client_never_waits_tells_the_same_cause() -> None:
    """That it waited at another time tells that the agent sees when it waits."""
    simulated = trickling((9.0, 9.05))
    with read_connection() as connection:
        start, stop = (round((START + time) * 1e6) for time in (0, simulated.makespan / 2))
        found = found_in(connection, Scope(simulated.record(), start, stop))
    finding = first(found, "client")
    assert finding["wall_seconds"] == pytest.approx(10 * 0.5 * 6 / 8, rel=0.2)


def test_a_window_of_a_cluster_has_what_clients_did_in_their_runs_and_nothing_of_other_times() -> None:
    tasks = futures(16, 0.5)
    simulated = Simulated(tasks)
    ended = simulated.makespan
    simulated.activities = [(0.0, ended + 4, "", "code"), (0.0, ended, "", "waiting")]
    simulated.sample("observatory_worker_cpu_percent", 2.0, 0, 60, worker=1)
    finding = first(simulated.findings(), "client")
    assert finding["sentence"].startswith("For 4.00 s of 5.0")
    assert finding["wall_seconds"] == pytest.approx(4.0, rel=0.05)


def test_a_client_that_waits_for_its_tasks_is_not_busy_with_its_own_code() -> None:
    finding = first(findings_of_run(trickling((0.0, 100.0))), "client")
    assert "The client waited for all 2 tasks of a round before it submitted the next" in finding["sentence"]
    assert first(findings_of_run(trickling()), "few-tasks"), "nor where it isn't known when it waited"


def test_a_client_is_not_blamed_for_what_workers_compute_without_a_task() -> None:
    simulated = Simulated(futures(16, 0.5))
    simulated.sample("observatory_worker_cpu_percent", 98.0, 1.5, 5, worker=1)
    [finding] = findings_of_run(simulated, after=4.0)
    assert "a worker computed nevertheless (98 % of a core): methods of actors" in finding["sentence"]
    assert finding["thread_seconds"] == 0


@pytest.mark.parametrize("cpu", [2.0, 98.0])
def test_a_client_that_waits_for_methods_of_actors_is_not_said_to_run_its_own_code(cpu: float) -> None:
    simulated = Simulated(futures(16, 0.5))
    ended = simulated.makespan
    simulated.activities = [
        (0.0, ended + 4, "", "code"),
        (0.0, ended, "", "waiting"),
        (ended - 0.5, ended - 0.3, "", "actor"),
        (ended + 0.1, ended + 3.9, "", "actor"),
    ]
    simulated.sample("observatory_worker_cpu_percent", cpu, 0, ended + 4, worker=1)
    [finding] = findings_of_run(simulated, after=4.0)
    assert finding["sentence"].startswith("For 3.80 s of 5.0")
    assert finding["sentence"].endswith("the client waited for methods of actors, which are no tasks.")
    assert {"label": "the worker that computed most", "value": f"{cpu:.0f} % of a core"} in finding["facts"]
    assert {"label": "waited for them in all, also while tasks ran", "value": "4.00 s"} in finding["facts"]
    assert finding["thread_seconds"] == pytest.approx(8 * 3.8)
    assert finding["wall_seconds"] == pytest.approx(3.8, rel=0.05)


def test_own_code_between_methods_of_actors_is_told_beside_them() -> None:
    simulated = Simulated(futures(16, 0.5))
    ended = simulated.makespan
    simulated.activities = [
        (0.0, ended + 12, "", "code"),
        (0.0, ended, "", "waiting"),
        (ended, ended + 4, "", "actor"),
    ]
    simulated.sample("observatory_worker_cpu_percent", 2.0, 0, ended + 12, worker=1)
    own, actors = findings_of_run(simulated, after=12.0)
    assert own["sentence"].startswith(
        "For 7.99 s of 13.0 s the cluster had no task: the client's own code ran for 7.99 s"
    )
    assert actors["sentence"].startswith("For 4.00 s of 13.0 s")
    assert [one["wall_seconds"] for one in (own, actors)] == pytest.approx([8, 4], rel=0.05)


def test_a_client_that_waits_in_a_call_of_dask_without_tasks_does_not_run_its_own_code() -> None:
    simulated = Simulated(futures(16, 0.5))
    ended = simulated.makespan
    simulated.activities = [(0.0, ended + 4, "", "code"), (0.0, ended + 4, "", "waiting")]
    simulated.sample("observatory_worker_cpu_percent", 2.0, 0, ended + 4, worker=1)
    finding = first(findings_of_run(simulated, after=4.0), "client")
    assert "the client waited in a call of Dask, though for no task for 3.99 s" in finding["sentence"]


def test_first_tasks_of_each_worker_that_take_longer_are_first_uses() -> None:
    tasks = futures(64, 0.4)
    # the first eight go to the eight threads
    seeded = Simulated([replace(task, seconds=3.0 if place < 8 else 0.4) for place, task in enumerate(tasks)])
    [finding] = seeded.findings()
    assert finding["kind"] == "first-use"
    assert_saves(finding, seeded, Simulated(tasks))
    assert "on each of 4 workers took 3.00 s, later ones 400 ms" in finding["sentence"]


def test_long_tasks_at_the_beginning_of_one_worker_are_stragglers() -> None:
    tasks = futures(64, 0.4)
    seeded = Simulated([replace(task, seconds=9.0 if place < 2 else 0.4) for place, task in enumerate(tasks)])
    first(seeded.findings(), "stragglers")


def test_tasks_that_wait_for_a_lock_are_told_its_name() -> None:
    simulated = Simulated(futures(64, 0.5))
    for metric, value in (("pending", 7), ("active", 1), ("max", 1)):
        simulated.sample(f"dask_semaphore_{metric}_leases", value, 0, 4, name="the <db>")
    finding = first(simulated.findings(), "serialized")
    assert "for “the <db>”, a lock or semaphore that 1 task can hold at once" in finding["sentence"]
    assert finding["thread_seconds"] == pytest.approx(7 * 4, rel=0.05)


def test_a_lock_that_is_held_for_a_moment_is_no_finding() -> None:
    simulated = Simulated(futures(64, 0.5))
    simulated.sample("dask_semaphore_pending_leases", 1, 1, 1, name="log")
    simulated.sample("dask_semaphore_pending_leases", 0, 1.5, 4, name="log")
    assert simulated.findings() == []


def test_tasks_that_no_worker_may_run_are_first_with_what_is_missing() -> None:
    simulated = Simulated(futures(16, 0.5))
    simulated.transitions += [
        (START + 1.2, f"train-{place}", "released", "no-worker", "", "made-up") for place in range(3)
    ]
    simulated.makespan += 8
    missing = "no worker has the resource GPU"
    simulated.sample("observatory_cluster_unrunnable_tasks", 3, 1.5, 9.5, reason=missing)
    finding = first(simulated.findings(), "unrunnable")
    assert finding["is_failure"]
    assert finding["sentence"].startswith(f"3 tasks can't run: {missing}. They have waited")
    assert finding["wall_seconds"] == pytest.approx(8.0, rel=0.2)


def test_tasks_that_ran_once_a_worker_came_could_run() -> None:
    simulated = Simulated(futures(64, 0.5))
    simulated.sample("observatory_cluster_unrunnable_tasks", 3, 0, 3, reason="there is no worker")
    simulated.sample("observatory_cluster_unrunnable_tasks", 0, 3.5, 4, reason="there is no worker")
    assert simulated.findings() == []


def test_failures_that_stock_endpoints_only_counted_are_a_finding() -> None:
    simulated = Simulated(futures(64, 0.5))
    simulated.transitions.clear()
    simulated.events += [Event(START + 2, "tasks-erred", "3 more tasks have failed", {"count": 3})]
    finding = first(simulated.findings(), "failure")
    assert finding["sentence"] == "3 tasks failed. Without the agent it isn't known which, and why."
    assert finding["moments"] == [{"label": "first failure", "time": START + 2}]


def scans(executor: str) -> Simulated:
    """On each of two workers one at a time, although it has four threads."""
    tasks = [Task(f"scan{worker}-{place}", 0.5) for worker in range(2) for place in range(24)]
    names = {"scan0": executor, "scan1": executor}
    simulated = Simulated(tasks, 2, 1, stay={"scan0": 0, "scan1": 1}, executors=names)
    simulated.seen = [replace(one, nthreads=4) for one in simulated.seen]
    return simulated


def test_an_executor_of_one_thread_is_what_tasks_wait_for() -> None:
    finding = first(scans("scanner").findings(), "serialized")
    assert finding["sentence"].startswith(
        "Tasks of scan0 and scan1 waited for the executor “scanner”: a worker ran at most 1 of them at once, "
        "and had 4 threads."
    )
    assert finding["wall_seconds"] == pytest.approx(12 - 3, rel=0.3)


def test_the_executor_with_all_threads_is_none() -> None:
    assert "executor" not in str([one["sentence"] for one in scans("default").findings()])
