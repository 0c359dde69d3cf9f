"""Each kind finds its cause first, with the cost that the same run without the cause saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp
from statistics import NormalDist
from typing import Any

import pytest

from observatory.wire.records import Action, Event, Span, WorkerGone, WorkerSeen
from tests.support.recorded_cluster import START
from tests.why.findings.simulated import GIB, Death, Pause, Simulated, Task, futures, map_reduce, tree

pytestmark = pytest.mark.django_db(transaction=True)

CLOSE = 0.3


def first(found: Sequence[dict[str, Any]], kind: str) -> dict[str, Any]:
    assert [one["kind"] for one in found][:1] == [kind], [one["sentence"] for one in found]
    return found[0]


def assert_saves(finding: dict[str, Any], seeded: Simulated, without: Simulated) -> None:
    """The cost is near to what the same run without the cause takes less."""
    assert finding["wall_seconds"] == pytest.approx(seeded.makespan - without.makespan, rel=CLOSE)


def changed(tasks: Sequence[Task], key: str, **changes: Any) -> list[Task]:
    return [replace(task, **changes) if task.key == key else task for task in tasks]


def test_a_task_that_all_others_wait_for_is_a_straggler() -> None:
    tasks = futures(64, 0.5)
    seeded, without = Simulated(changed(tasks, "work-60", seconds=8.5)), Simulated(tasks)
    finding = first(seeded.findings(), "stragglers")
    assert_saves(finding, seeded, without)
    assert [task["key"] for task in finding["tasks"]] == ["work-60"]
    assert "1 task of work took 8.50 s, 500 ms is usual." in finding["sentence"]
    assert finding["moments"][0]["time"] == finding["tasks"][0]["start"]


@pytest.mark.parametrize("deviation", [0.5, 1.0])
def test_durations_that_differ_widely_have_no_stragglers_and_one_far_beyond_them_is_one(
    deviation: float,
) -> None:
    """Lognormal, as of requests, texts and tables: the longest of them is one of many."""
    quantiles = [NormalDist().inv_cdf((place + 0.5) / 160) for place in range(160)]
    seconds = [0.4 * exp(deviation * quantiles[place * 37 % 160]) for place in range(160)]
    # the longest first, so that no thread waits for them
    tasks = [Task(f"work-{place}", one) for place, one in enumerate(sorted(seconds, reverse=True))]
    assert "stragglers" not in kinds_of(Simulated(tasks).findings())
    assert max(seconds) > max(1.5, 3.6 * 0.4)
    assert kinds_of(Simulated([*tasks, Task("work-160", 60.0)]).findings())[0] == "stragglers"


def kinds_of(findings: Sequence[Any]) -> list[str]:
    return [one["kind"] for one in findings]


def test_a_worker_that_died_costs_what_was_lost_and_computed_again() -> None:
    tasks = map_reduce(64, 1.0)
    seeded = Simulated(tasks, deaths=[Death(2, 10.4, restarts_after=4)])
    finding = first(seeded.findings(), "worker-died")
    assert_saves(finding, seeded, Simulated(tasks))
    assert finding["sentence"].startswith("1 worker died: w2 (tcp://10.0.0.2:4000).")
    assert [moment["label"] for moment in finding["moments"]] == ["w2 (tcp://10.0.0.2:4000) died"]


def test_a_worker_that_died_in_a_run_of_two_seconds_is_told_for_the_threads_that_were_missing() -> None:
    seeded = Simulated(futures(30, 0.2), 3, deaths=[Death(2, 0.21, restarts_after=9)])
    [died] = [one for one in seeded.findings() if one["kind"] == "worker-died"]
    assert died["wall_seconds"] == pytest.approx(
        seeded.makespan - Simulated(futures(30, 0.2), 3).makespan, rel=0.3
    )


def test_a_run_that_failed_begins_with_the_cause_of_its_failure() -> None:
    tasks = futures(64, 0.5)
    seeded = Simulated(changed(tasks, "work-60", seconds=9), tries={"work-3": 1})
    seeded.errors.clear()
    seeded.error(0.5, "work-3", "tcp://10.0.0.1:4000", "erred", "KeyError", "'<img src=x>'")
    finding = first(seeded.findings(), "failure")
    assert finding["is_failure"]
    assert finding["sentence"] == "1 task of work failed with KeyError: '<img src=x>'."
    assert finding["thread_seconds"] == pytest.approx(0.5, rel=CLOSE)
    assert [task["key"] for task in finding["tasks"]] == ["work-3"]


def test_tasks_that_take_less_than_the_scheduler_needs_for_them_are_too_small() -> None:
    seeded = Simulated(futures(1_000, 0.01), overhead=0.008)
    finding = first(seeded.findings(), "small-tasks")
    assert_saves(finding, seeded, Simulated(futures(40, 0.25), overhead=0.008))
    assert finding["sentence"].startswith("1,000 tasks of work took 10 ms each (median).")


def test_fewer_tasks_than_threads_leave_threads_idle() -> None:
    seeded = Simulated(futures(4, 10))
    finding = first(seeded.findings(), "few-tasks")
    assert_saves(finding, seeded, Simulated(futures(8, 5)))
    assert finding["sentence"].startswith("At most 4 threads of 8 had a task at once:")


def test_a_chain_of_tasks_keeps_one_thread() -> None:
    chain = [Task(f"step-{place}", 1, (f"step-{place - 1}",) if place else ()) for place in range(12)]
    finding = first(Simulated(chain).findings(), "few-tasks")
    assert finding["thread_seconds"] == pytest.approx(12 * 7, rel=CLOSE)


def test_a_cluster_that_waits_for_its_client_is_idle() -> None:
    seeded = Simulated(futures(64, 0.5), submitted=600)
    seeded.sample("observatory_cluster_threads", 8, 0, 600)
    finding = first(seeded.findings(), "idle")
    assert finding["thread_seconds"] == pytest.approx(8 * 600, rel=CLOSE)
    assert finding["wall_seconds"] == 0
    assert "1 thread would have been enough" in finding["sentence"]


def test_threads_that_wait_for_data_are_bound_by_transfers() -> None:
    loads = [Task(f"load-{place}", 0.5, nbytes=10**8) for place in range(64)]
    uses = [Task(f"use-{place}", 0.5, (f"load-{place}", f"load-{(place + 21) % 64}")) for place in range(64)]
    seeded, without = (
        Simulated([*loads, *uses], bandwidth=10**8),
        Simulated([*loads, *uses], bandwidth=10**12),
    )
    finding = first(seeded.findings(), "transfers")
    assert_saves(finding, seeded, without)
    assert "for tasks of use: " in finding["sentence"]
    assert any(fact["label"].startswith("from w") for fact in finding["facts"])


def test_a_worker_that_was_paused_had_too_little_memory() -> None:
    tasks = futures(160, 0.5)
    seeded = Simulated(tasks, pauses=[Pause(1, 2, 12)])
    seeded.sample("observatory_worker_memory_bytes", 2**30, 2, 12, worker=1, type="spilled")
    finding = first(seeded.findings(), "memory-full")
    assert_saves(finding, seeded, Simulated(tasks))
    assert "Memory was nearly full on 1 worker (w1 " in finding["sentence"]
    assert {"label": "spilled at most", "value": "1.00 GiB"} in finding["facts"]


def test_a_worker_that_is_slower_than_others_is_named_and_its_tasks_are_not_stragglers() -> None:
    tasks = futures(200, 0.5)
    seeded = Simulated(tasks, slowness={1: 4.0})
    found = seeded.findings()
    finding = first(found, "slow-worker")
    assert_saves(finding, seeded, Simulated(tasks))
    assert finding["sentence"].startswith(
        "w1 (tcp://10.0.0.1:4000) is slower than others: its tasks take 4 times"
    )
    assert len(found) == 1


def test_a_slow_host_is_one_finding() -> None:
    tasks = futures(200, 0.5)
    seeded = Simulated(
        tasks, slowness={2: 3.0, 3: 3.0}, hosts=lambda number: "10.0.0.2" if number > 1 else "10.0.0.1"
    )
    found = seeded.findings()
    assert_saves(first(found, "slow-worker"), seeded, Simulated(tasks))
    assert found[0]["sentence"].startswith("The 2 workers of 10.0.0.2 are slower than others:")
    assert len(found) == 1


def test_what_is_computed_twice_is_named() -> None:
    loads = [Task(f"load-{place}", 1.0) for place in range(64)]
    uses = [Task(f"use-{place}", 0.5, (f"load-{place}",)) for place in range(64)]
    further = [replace(task, key=f"{task.key}x") for task in uses]
    seeded = Simulated([*loads, *uses]).then([*loads, *further])
    without = Simulated([*loads, *uses]).then([replace(task, needs=()) for task in further])
    # they close when the work is done, as of a LocalCluster
    seeded.gone += [
        WorkerGone(f"tcp://10.0.0.{number}:4000", START + seeded.makespan + 0.5, "closed")
        for number in range(seeded.workers)
    ]
    finding = first(seeded.findings(), "recomputed")
    assert_saves(finding, seeded, without)
    assert finding["sentence"].startswith("64 tasks of load computed again")


def test_attempts_that_were_repeated_cost_what_they_took() -> None:
    tasks = futures(64, 0.5)
    seeded = Simulated(tasks, tries={f"work-{place}": 3 for place in range(8)})
    finding = first(seeded.findings(), "retries")
    assert_saves(finding, seeded, Simulated(tasks))
    assert finding["sentence"] == "24 attempts of work failed with ValueError and were repeated."


def test_attempts_cost_what_they_took_where_all_tasks_were_repeated() -> None:
    tasks = futures(16, 0.5)
    seeded = Simulated(tasks, tries={task.key: 2 for task in tasks})
    assert_saves(first(seeded.findings(), "retries"), seeded, Simulated(tasks))


def test_calls_that_raised_reschedule_cost_what_they_took() -> None:
    tasks = futures(64, 0.5)
    seeded = Simulated(tasks, refusals={f"work-{place}": 1.5 for place in range(16)})
    finding = first(seeded.findings(), "retries")
    assert_saves(finding, seeded, Simulated(tasks))
    assert finding["sentence"] == (
        "16 calls of work raised Reschedule, after 1.50 s (median), and their tasks were sent again."
    )
    assert sorted(task["key"] for task in finding["tasks"]) == sorted(f"work-{one}" for one in range(10))


def test_attempts_that_failed_and_calls_that_raised_reschedule_are_told_apart() -> None:
    tasks = futures(64, 0.5)
    refusals = {f"work-{place}": 1.0 for place in range(16)}
    found = Simulated(
        tasks, tries={f"work-{place}": 2 for place in range(40, 56)}, refusals=refusals
    ).findings()
    assert [one["kind"] for one in found] == ["retries", "retries"]
    sentences = sorted(one["sentence"] for one in found)
    assert sentences[0].startswith("16 calls of work raised Reschedule, after 1.00 s (median)")
    assert sentences[1] == "32 attempts of work failed with ValueError and were repeated."


def test_a_few_calls_that_raised_reschedule_at_once_are_no_finding() -> None:
    refusals = {f"work-{place}": 0.02 for place in range(16)}
    assert Simulated(futures(64, 0.5), refusals=refusals).findings() == []


def test_a_blocked_event_loop_delays_the_tasks_of_its_worker() -> None:
    tasks = futures(160, 0.5)
    seeded = Simulated(tasks, late={1: 2.0})
    seeded.sample("observatory_worker_event_loop_interval_seconds", 1.9, 0, seeded.makespan, worker=1)
    for other in (0, 2, 3):
        seeded.sample(
            "observatory_worker_event_loop_interval_seconds", 0.02, 0, seeded.makespan, worker=other
        )
    finding = first(seeded.findings(), "event-loops")
    assert_saves(finding, seeded, Simulated(tasks))
    assert "The event loop of 1 worker (w1 (tcp://10.0.0.1:4000)) was blocked:" in finding["sentence"]
    assert {"label": "between two ticks, up to", "value": "1.90 s"} in finding["facts"]


def test_a_blocked_event_loop_reports_no_results_while_other_workers_go_on() -> None:
    tasks = futures(160, 0.5)
    seeded = Simulated(tasks, blocked={1: (1.0, 6.0)})
    seeded.sample("observatory_worker_event_loop_interval_seconds", 1.9, 1.0, 6.0, worker=1)
    seeded.sample("observatory_worker_event_loop_interval_seconds", 0.02, 6.5, seeded.makespan, worker=1)
    finding = first(seeded.findings(), "event-loops")
    assert_saves(finding, seeded, Simulated(tasks))


def test_an_event_loop_that_is_blocked_for_long_reports_nothing_while_its_own_tasks_compute() -> None:
    """As a coroutine does that is such a task."""
    long, short = [Task(f"long-{place}", 6.0) for place in range(4)], futures(160, 0.5)
    tasks = [task for pair in zip(long, short[:4], strict=True) for task in pair] + short[4:]
    seeded = Simulated(tasks, blocked=dict.fromkeys(range(4), (1.0, 6.0)))
    for worker in range(4):
        seeded.sample("observatory_worker_event_loop_interval_seconds", 1.9, 1.0, 6.0, worker=worker)
        seeded.sample(
            "observatory_worker_event_loop_interval_seconds", 0.02, 6.5, seeded.makespan, worker=worker
        )
    finding = first(seeded.findings(), "event-loops")
    assert_saves(finding, seeded, Simulated(tasks))


def test_an_event_loop_without_a_core_is_not_blocked() -> None:
    """Its ticks are as late as those of one that is: the machine has too few cores."""
    seeded = Simulated(futures(160, 0.5), late={1: 2.0})
    seeded.sample("observatory_worker_event_loop_interval_seconds", 1.9, 0, seeded.makespan, worker=1)
    seeded.sample("observatory_worker_event_loop_own_interval_seconds", 0.02, 0, seeded.makespan, worker=1)
    assert "event-loops" not in kinds_of(seeded.findings())


def importing(tasks: Sequence[Task], late: float) -> Simulated:
    """All workers import before they begin with what was sent to them."""
    seeded = Simulated(tasks, late=dict.fromkeys(range(4), late))
    for worker in range(4):
        for metric, value in (("event_loop_interval_seconds", 1.9), ("imported_modules", 800)):
            seeded.sample(f"observatory_worker_{metric}", value, 0, seeded.makespan, worker=worker)
    return seeded


def test_an_event_loop_that_imports_is_told_from_one_that_something_else_blocks() -> None:
    tasks = futures(160, 0.5)
    seeded = importing(tasks, late=1.0)
    finding = first(seeded.findings(), "first-imports")
    assert_saves(finding, seeded, Simulated(tasks))
    assert "imported up to 800 modules for their first tasks" in finding["sentence"]


def test_imports_that_take_less_than_a_fifth_of_the_time_are_no_cause() -> None:
    assert importing(futures(160, 0.5), late=0.06).findings() == []


def test_an_event_loop_that_spills_is_blocked_because_memory_is_full() -> None:
    """Dask reads and writes spilled results on the event loop."""
    tasks = futures(160, 0.5)
    seeded = Simulated(tasks, late={1: 2.0})
    seeded.sample("observatory_worker_event_loop_interval_seconds", 1.9, 0, seeded.makespan, worker=1)
    seeded.spans += [
        Span(
            "tcp://10.0.0.1:4000", 0, "work-0", "work", "work", Action.DISK_READ, start, start + 0.2, 9, "int"
        )
        for start in (START + second for second in range(int(seeded.makespan)))
    ]
    finding, *others = seeded.findings()
    assert finding["kind"] == "memory-full"
    assert " for event loops that used the disk." in finding["sentence"]
    assert_saves(finding, seeded, Simulated(tasks))
    assert "event-loops" not in kinds_of(others)


def test_late_tasks_alone_do_not_say_that_an_event_loop_was_blocked() -> None:
    found = Simulated(futures(160, 0.5), late={1: 2.0}).findings()
    assert "event-loops" not in [one["kind"] for one in found]


def test_a_busy_scheduler_keeps_threads_waiting() -> None:
    tasks = futures(160, 0.5)
    seeded = Simulated(tasks, overhead=0.15)
    seeded.sample("observatory_scheduler_cpu_percent", 100, 0, seeded.makespan)
    finding = first(seeded.findings(), "scheduler-busy")
    assert_saves(finding, seeded, Simulated(tasks))
    assert {"label": "highest CPU use", "value": "100 %"} in finding["facts"]


def test_small_tasks_explain_why_the_scheduler_was_busy() -> None:
    seeded = Simulated(futures(1_000, 0.01), overhead=0.008)
    seeded.sample("observatory_scheduler_cpu_percent", 100, 0, seeded.makespan)
    assert [one["kind"] for one in seeded.findings()] == ["small-tasks"]


def test_short_tasks_between_long_ones_are_not_what_these_wait_for() -> None:
    """On a busy machine each task begins a little late, which is no matter of a reduction's small steps."""
    loads = [Task(f"load-{place}", 0.5) for place in range(128)]
    parts = [Task(f"part-{place}", 0.0001, (load.key,)) for place, load in enumerate(loads)]
    seeded = Simulated([*loads, *parts, *tree([part.key for part in parts], 0.0001)], overhead=0.004)
    assert seeded.findings() == []


def test_a_blocked_scheduler_is_not_hidden_by_small_tasks() -> None:
    """The same tasks take a tenth of the time where nothing else blocks it."""
    tasks = futures(400, 0.03)
    seeded, without = Simulated(tasks, overhead=0.05), Simulated(tasks)
    seeded.sample("observatory_scheduler_event_loop_interval_seconds", 0.4, 0, seeded.makespan)
    found = seeded.findings()
    assert [one["kind"] for one in found] == ["scheduler-busy"]
    assert_saves(found[0], seeded, without)


def test_a_scheduler_that_is_blocked_as_long_as_small_tasks_take_is_explained_by_them() -> None:
    seeded = Simulated(futures(1_000, 0.01), overhead=0.008)
    seeded.sample("observatory_scheduler_event_loop_interval_seconds", 0.4, 0, seeded.makespan)
    assert [one["kind"] for one in seeded.findings()] == ["small-tasks"]


def test_tasks_that_hold_the_gil_take_longer_by_what_they_wait_for_it() -> None:
    seeded = Simulated(futures(160, 1.0))
    for worker in range(4):
        seeded.sample("observatory_worker_gil_contention_ratio", 1.0, 0, seeded.makespan, worker=worker)
    finding = first(seeded.findings(), "gil")
    assert_saves(finding, seeded, Simulated(futures(160, 0.5)))
    assert finding["sentence"].startswith("Tasks of work hold the GIL:")


@pytest.mark.parametrize(("cpu", "holds_it"), [(4.0, False), (100.0, True)])
def test_tasks_that_use_no_cpu_do_not_hold_the_gil(cpu: float, holds_it: bool) -> None:
    """A method of an actor, or another thread of the process, does: one that holds it uses a core."""
    seeded = Simulated(futures(160, 1.0))
    for worker in range(4):
        seeded.sample("observatory_worker_gil_contention_ratio", 0.9, 0, seeded.makespan, worker=worker)
        seeded.sample("observatory_worker_task_cpu_percent", cpu, 0, seeded.makespan, worker=worker)
    assert ("gil" in [one["kind"] for one in seeded.findings()]) == holds_it


def test_what_the_scheduler_hears_late_as_event_loops_wait_for_the_gil_is_its_cost_as_well() -> None:
    seeded = Simulated(futures(80, 0.4), overhead=0.2)
    for worker in range(seeded.workers):
        seeded.sample("observatory_worker_gil_contention_ratio", 0.9, 0, seeded.makespan, worker=worker)
    idle = 8 * seeded.makespan - 80 * 0.4
    assert first(seeded.findings(), "gil")["thread_seconds"] == pytest.approx(0.9 * idle, rel=0.2)


def test_one_thread_of_a_process_has_the_gil_for_itself() -> None:
    seeded = Simulated(futures(160, 1.0), workers=8, threads=1)
    for worker in range(8):
        seeded.sample("observatory_worker_gil_contention_ratio", 1.0, 0, seeded.makespan, worker=worker)
    assert seeded.findings() == []


def test_unmanaged_memory_that_grows_is_a_risk_without_a_cost() -> None:
    seeded = Simulated(futures(640, 1.0))
    for step in range(80):
        value = step / 80 * 2.5 * GIB
        seeded.sample("observatory_worker_memory_bytes", value, step, step + 0.5, worker=2, type="unmanaged")
        level = (1 + step % 2 / 10) * GIB
        seeded.sample("observatory_worker_memory_bytes", level, step, step + 0.5, worker=1, type="unmanaged")
    finding = first(seeded.findings(), "growing-memory")
    assert (finding["thread_seconds"], finding["wall_seconds"]) == (0, 0)
    assert finding["sentence"].startswith(
        "Unmanaged memory grew steadily on 1 worker (w2 (tcp://10.0.0.2:4000))"
    )


def test_adaptive_scaling_that_flaps_costs_the_idle_time_of_short_lived_workers() -> None:
    seeded = Simulated(futures(160, 1.0))
    for number, target in enumerate((4, 8, 4, 8, 4, 8, 4)):
        seeded.events.append(Event(START + 2 * number, "adaptive-target", "", {"target": target}))
    for number in range(3):
        address = f"tcp://10.9.0.{number}:4000"
        seeded.seen.append(WorkerSeen(address, f"short{number}", "10.0.0.1", 2, 4 * GIB, START + 4 * number))
        seeded.gone.append(WorkerGone(address, START + 4 * number + 4, "retired"))
    finding = first(seeded.findings(), "adaptive")
    assert finding["thread_seconds"] == pytest.approx(3 * 2 * 4, rel=CLOSE)
    assert finding["sentence"].startswith("Adaptive scaling changed its direction 5 times: 3 workers lived")


def test_versions_that_differ_are_named() -> None:
    seeded = Simulated(futures(64, 0.5))
    versions = [
        {"versions": {"dask": f"2026.{number}", "numpy": "2.0", "rare": str(number)}}
        for number in (8, 8, 8, 7)
    ]
    seeded.seen = [replace(seen, detail=detail) for seen, detail in zip(seeded.seen, versions, strict=True)]
    finding = first(seeded.findings(), "versions")
    assert finding["sentence"] == "1 package has different versions on the processes of this cluster: dask."
    assert finding["facts"] == [{"label": "dask", "value": "2026.8 on 3 workers, 2026.7 on 1 worker"}]
