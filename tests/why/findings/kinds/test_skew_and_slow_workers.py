"""Long tasks: because of what is in them, or of where they ran."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest

from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.findings.observed.workers.slow_workers import slow_workers
from tests.why import made_records
from tests.why.findings.kinds.test_kinds import assert_saves, changed, first
from tests.why.findings.observed.test_waiting_tasks import CPU, using
from tests.why.findings.simulated import Simulated, Task, futures, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)


def spread(tasks: list[Task], prefix: str) -> list[Task]:
    """The same work, in equal parts."""
    of_prefix = [task.seconds for task in tasks if task.prefix == prefix]
    seconds = sum(of_prefix) / len(of_prefix)
    return [replace(task, seconds=seconds) if task.prefix == prefix else task for task in tasks]


def test_a_partition_with_more_data_is_named_and_its_own_work_is_not_counted_as_saved() -> None:
    tasks = changed(map_reduce(), "load-63", seconds=12, nbytes=50_000)
    seeded = Simulated(tasks)
    finding = first(seeded.findings(), "stragglers")
    assert_saves(finding, seeded, Simulated(spread(tasks, "load")))
    skewed = "The partition of load-63 is skewed: results of up to 48.8 KiB instead of 1000 B."
    assert finding["sentence"].endswith(skewed)
    assert "Repartition" in finding["advice"]


def test_a_partition_that_is_large_where_it_is_read_is_skewed() -> None:
    """As of a groupby of one frequent key: the result of the long task is as small as the others'."""
    loads = [Task(f"load-{place}", 0.3, nbytes=90_000 if place == 30 else 3_000) for place in range(32)]
    sums = [Task(f"agg-{place}", 9.0 if place == 30 else 0.3, (f"load-{place}",)) for place in range(32)]
    finding = first(Simulated([*loads, *sums]).findings(), "stragglers")
    assert (
        "The partition of agg-30 is skewed: inputs of up to 87.9 KiB instead of 2.93 KiB."
        in finding["sentence"]
    )
    # its nine seconds have to be computed; the idle threads are what equal parts would save
    assert finding["thread_seconds"] == pytest.approx(7 * 8.7, rel=0.3)


def test_a_partition_that_takes_long_in_each_stage_is_skewed_whatever_its_size() -> None:
    reads = [Task(f"read-{place}", 6.0 if place == 31 else 0.4) for place in range(32)]
    fits = [Task(f"fit-{place}", 6.0 if place == 31 else 0.4, (f"read-{place}",)) for place in range(32)]
    found = Simulated([*reads, *fits]).findings()
    assert any(
        "The partition of fit-31 is skewed: the tasks before took long, too." in one["sentence"]
        for one in found
    )


def test_a_large_partition_is_found_also_where_many_are_empty() -> None:
    """As after a shuffle by a key of which most rows have one value: a third of them has no rows."""
    tasks = [Task(f"part-{place}", 0.002 if place % 3 == 0 else 0.5) for place in range(48)]
    seeded, without = Simulated(changed(tasks, "part-46", seconds=20.0)), Simulated(tasks)
    finding = first(seeded.findings(), "stragglers")
    assert [task["key"] for task in finding["tasks"]] == ["part-46"]
    assert_saves(finding, seeded, without)


ROWS = (31, 9, 56, 20, 44, 61, 12, 38, 27, 70, 16, 50, 23, 640, 35, 47)
"""of the partitions of a join: one has the key of half of all rows"""


def test_a_partition_with_most_rows_is_found_also_where_all_others_differ() -> None:
    """No duration is far from what is usual, by the quartiles of such partitions."""
    tasks = [Task(f"join-{place}", rows / 100) for place, rows in enumerate(ROWS)]
    seeded = using(Simulated(tasks), 200.0)
    found = seeded.findings()
    finding = first(found, "stragglers")
    assert [task["key"] for task in finding["tasks"]] == ["join-13"]
    assert "narrow-stage" not in [one["kind"] for one in found]
    assert_saves(finding, seeded, Simulated(spread(tasks, "join")))


def test_the_last_step_of_a_tree_is_no_skewed_partition() -> None:
    """It takes longer than all steps before, of the same name, which it needs: a narrow stage."""
    leaves = [Task(f"load-{place}", 0.5) for place in range(32)]
    steps = [Task(f"sum-{place}", 0.1, (f"load-{2 * place}", f"load-{2 * place + 1}")) for place in range(16)]
    last = Task("sum-16", 5.0, tuple(step.key for step in steps))
    kinds = [one["kind"] for one in Simulated([*leaves, *steps, last]).findings()]
    assert "stragglers" not in kinds
    assert kinds[0] in ("narrow-stage", "few-tasks")


def test_the_work_of_a_long_task_that_computes_throughout_has_to_be_done_in_any_case() -> None:
    """As of one hard case among equal inputs: divided, it would take all threads."""
    tasks = changed(futures(64, 0.5), "work-60", seconds=8.5)
    seeded = using(Simulated(tasks), 200.0)
    finding = first(seeded.findings(), "stragglers")
    assert_saves(finding, seeded, Simulated(spread(tasks, "work")))
    assert finding["sentence"].endswith("It computed all the time: its work would be the same in more tasks.")
    assert "Repartition" in finding["advice"]


def test_a_long_task_that_waits_need_not_take_longer_than_others() -> None:
    tasks = futures(64, 0.5)
    seeded = using(Simulated(changed(tasks, "work-60", seconds=8.5)), 4.0)
    finding = next(one for one in seeded.findings() if one["kind"] == "stragglers")
    assert_saves(finding, seeded, Simulated(tasks))


def test_one_sample_after_a_silence_does_not_tell_that_a_long_task_computed() -> None:
    """As of a process that the operating system had stopped."""
    tasks = futures(64, 0.5)
    seeded = Simulated(changed(tasks, "work-60", seconds=8.5))
    for worker in range(seeded.workers):
        seeded.sample(CPU, 200.0, 0, 3.5, worker=worker)
        seeded.sample(CPU, 200.0, 12.0, seeded.makespan, worker=worker)
    assert_saves(first(seeded.findings(), "stragglers"), seeded, Simulated(tasks))


def test_a_long_task_beside_which_no_thread_was_free_does_not_say_that_any_waited_for_it() -> None:
    tasks = futures(40, 0.5)
    seeded = Simulated(changed(tasks, "work-20", seconds=6.5), workers=1, threads=1)
    finding = first(seeded.findings(), "stragglers")
    assert_saves(finding, seeded, Simulated(tasks, workers=1, threads=1))
    assert finding["sentence"] == "1 task of work took 6.50 s, 500 ms is usual. No thread was free beside it."
    assert "idle threads waited" not in [fact["label"] for fact in finding["facts"]]


def test_a_large_partition_that_begins_first_and_delays_nothing_costs_nothing() -> None:
    tasks = changed(futures(160, 0.5), "work-0", seconds=8.0, nbytes=50_000)
    assert Simulated(tasks).findings() == []


def test_a_worker_is_not_slow_because_of_one_partition() -> None:
    """Where it had few other tasks."""
    tasks = changed(futures(40, 0.5), "work-39", seconds=14.9)
    found = Simulated(tasks).findings()
    assert [one["kind"] for one in found] == ["stragglers"]


def test_tasks_of_a_few_milliseconds_do_not_tell_that_a_worker_is_slow() -> None:
    seeded = Simulated(futures(2_000, 0.03), slowness={1: 6.0}, overhead=0.0001)
    assert "slow-worker" not in [one["kind"] for one in seeded.findings()]


def test_a_worker_is_slow_by_few_long_tasks_if_they_all_take_longer() -> None:
    tasks = futures(24, 4.0)
    seeded = Simulated(tasks, slowness={1: 2.5})
    finding = first(seeded.findings(), "slow-worker")
    assert finding["sentence"].endswith("take 2.5 times as long as the same tasks elsewhere.")
    [interval] = [one["value"] for one in finding["facts"] if one["label"].startswith("confidence")]
    assert interval == "2.2× – 2.8×"


def test_a_worker_on_which_all_tasks_fail_that_finish_elsewhere_is_not_compared() -> None:
    """As one whose disk is full: it finished tasks that no other worker had."""
    attempts = [made_records.computed(1, place, place + 1, 2, erred=True) for place in range(6)]
    others = [made_records.computed(1, place, place + 1, 1) for place in range(6)]
    spans = [*attempts, *others, *(made_records.computed(2, 10 + place, 11 + place, 2) for place in range(6))]
    records = made_records.recorded([made_records.worker(1), made_records.worker(2)], spans)
    assert slow_workers(Computations(records.spans), {}) == []


def test_attempts_that_were_repeated_are_told_from_those_that_failed_tasks_ended_with() -> None:
    """Each costs once, where some tasks of a prefix failed for good and others in the end did not."""
    spans = [
        made_records.computed(1, 0, 1, erred=True),
        made_records.computed(1, 1, 2),
        made_records.computed(2, 2, 3, erred=True),
        made_records.computed(2, 3, 4, erred=True),
    ]
    of_records = made_records.recorded([made_records.worker()], spans).spans
    found = Computations(replace(of_records, prefix=np.zeros(4, np.int64)))
    assert found.failed(0).tolist() == [0, 2, 3]
    assert found.failed_before(0, was_repeated=True).tolist() == [0, 2]
    assert found.failed_before(0, was_repeated=False).tolist() == [3]


def test_several_slow_workers_are_one_finding_with_what_all_of_them_cost() -> None:
    """Without one of them, the others would keep the last tasks: one by one they seem to cost little."""
    tasks = [
        *futures(48, 0.5, "load"),
        *(Task(f"fit-{place}", 0.5, (f"load-{place}",)) for place in range(48)),
    ]
    slowness = {1: 3.0, 4: 2.0}
    seeded = Simulated(tasks, workers=6, threads=1, slowness=slowness)
    found = seeded.findings()
    finding = first(found, "slow-worker")
    assert len(found) == 1
    assert_saves(finding, seeded, Simulated(tasks, workers=6, threads=1))
    assert finding["sentence"] == (
        "2 workers are slower than others, w1 (tcp://10.0.0.1:4000) and w4 (tcp://10.0.0.4:4000): their "
        "tasks take 2 to 3 times as long as the same tasks elsewhere."
    )
    assert len(finding["workers"]) == 2


def test_tasks_that_vary_much_make_no_worker_slow() -> None:
    lengths = [0.2, 0.3, 3.0, 0.4, 0.2, 2.0, 0.5]
    tasks = [Task(f"work-{place}", lengths[place * 5 % 7]) for place in range(42)]
    assert "slow-worker" not in [one["kind"] for one in Simulated(tasks).findings()]


def test_a_long_partition_on_a_slow_worker_is_told_as_well_and_counted_once() -> None:
    tasks = futures(200, 0.5)
    seeded = Simulated(tasks, slowness={1: 3.0})
    last = max(
        (span for span in seeded.spans if span.worker == "tcp://10.0.0.1:4000"), key=attrgetter("start")
    )
    seeded = Simulated(changed(tasks, last.key, seconds=7.0), slowness={1: 3.0})
    found = seeded.findings()
    assert [one["kind"] for one in found] == ["stragglers", "slow-worker"]
    assert found[0]["thread_seconds"] + found[1]["thread_seconds"] <= 8 * seeded.makespan


def test_first_tasks_of_each_thread_of_one_worker_are_first_uses() -> None:
    tasks = futures(40, 0.4)
    seeded = Simulated(
        [replace(task, seconds=3.0 if place < 4 else 0.4) for place, task in enumerate(tasks)],
        workers=1, threads=4,
    )  # fmt: skip
    [finding] = seeded.findings()
    assert finding["kind"] == "first-use"
    assert_saves(finding, seeded, Simulated(tasks, workers=1, threads=4))
    assert "on each thread of the worker took 3.00 s, later ones 400 ms" in finding["sentence"]
