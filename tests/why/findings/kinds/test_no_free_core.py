"""A machine without a free core: what waited for it is not the work's, nor that of event loops."""

from __future__ import annotations

import numpy as np
import pytest

from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.findings.answer import findings
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.kinds.contention import no_free_core
from observatory.why.intervals import Intervals
from observatory.why.thread_times.answer import thread_times
from observatory.why.thread_times.cores import USED, WANTED, WORKER, WORKER_OWN, waited_without_core
from observatory.why.thread_times.gil import CONTENTION
from observatory.why.thread_times.kinds import OWN, ThreadKind
from observatory.why.what_if.recorded import reading
from observatory.why.window import readable_part
from tests.why.findings.kinds.test_kinds import first
from tests.why.findings.simulated import Simulated, Task, found_in, futures

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS = 4
LATE = 0.3
"""seconds after which event loops begin a task of 20 ms that came"""


def late_starts(own: float) -> Simulated:
    """Between two ticks are 0.4 s: `own` of them without those in which the loop had no core."""
    seeded = Simulated(futures(160, 0.02), WORKERS, late=dict.fromkeys(range(WORKERS), LATE))
    for worker in range(WORKERS):
        seeded.sample(WORKER, 0.4, 0, seeded.makespan, worker=worker)
        seeded.sample(WORKER_OWN, own, 0, seeded.makespan, worker=worker)
    return seeded


def test_event_loops_without_a_core_are_the_machines_and_no_fault_of_small_tasks() -> None:
    seeded = late_starts(own=0.02)
    cluster = seeded.record()
    with read_connection() as connection:
        found = found_in(connection, Scope(cluster))
        lost = thread_times(connection, Scope(cluster), 0, MAXIMUM_TIME)["without_core"]
    # of 0.4 s between two ticks, 0.38 s were without a core
    assert lost["waiting"] == pytest.approx(0.95 * 160 * LATE, rel=0.1)
    assert lost["computing"] == 0
    finding = first(found, "no-free-core")
    assert finding["thread_seconds"] == pytest.approx(lost["waiting"])
    assert "the machine had no free core" in finding["sentence"]
    assert {"small-tasks", "event-loops"}.isdisjoint(one["kind"] for one in found)


def test_what_waited_without_a_core_is_told_of_parts_of_the_window() -> None:
    """Small tasks lose what the machine took of their own times, and no more."""
    cluster = late_starts(own=0.02).record()
    with read_connection() as connection:
        start, stop = readable_part(connection, Scope(cluster), 0, MAXIMUM_TIME)
        evidence = Evidence(connection, Scope(cluster), start, stop)
        quarter = Intervals(np.array([start]), np.array([start + (stop - start) // 4]))
        of_quarter = waited_without_core(evidence.samples, evidence.time, quarter)
        assert of_quarter == pytest.approx(0.25 * evidence.without_core.waiting, rel=0.1)
        assert waited_without_core(evidence.samples, evidence.time, Intervals.none()) == 0


def test_event_loops_that_something_blocks_had_a_core() -> None:
    kinds = [one["kind"] for one in late_starts(own=0.4).findings()]
    assert "no-free-core" not in kinds
    assert "event-loops" in kinds


@pytest.mark.parametrize(("used", "kinds"), [(40.0, ["no-free-core"]), (180.0, [])])
def test_tasks_that_are_ready_to_run_and_use_no_cpu_wait_for_the_machine(
    used: float, kinds: list[str]
) -> None:
    """Two threads of each worker want two cores."""
    seeded = Simulated(futures(80, 0.5), WORKERS)
    for worker in range(WORKERS):
        seeded.sample(WANTED, 200.0, 0, seeded.makespan, worker=worker)
        seeded.sample(USED, used, 0, seeded.makespan, worker=worker)
        seeded.sample(WORKER, 0.02, 0, seeded.makespan, worker=worker)
        seeded.sample(WORKER_OWN, 0.02, 0, seeded.makespan, worker=worker)
    assert [one["kind"] for one in seeded.findings()] == kinds


@pytest.mark.parametrize(("used", "holds_the_gil"), [(40.0, False), (200.0, True)])
def test_a_thread_that_has_no_core_holds_the_gil_for_the_machine(used: float, holds_the_gil: bool) -> None:
    """The others of its process wait for as long: four fifths of that is the machine's."""
    seeded = Simulated(futures(80, 0.5), WORKERS)
    for worker in range(WORKERS):
        for metric, value in ((WANTED, 200.0), (USED, used), (CONTENTION, 0.8), (WORKER, 0.02)):
            seeded.sample(metric, value, 0, seeded.makespan, worker=worker)
        seeded.sample(WORKER_OWN, 0.02, 0, seeded.makespan, worker=worker)
    assert ("gil" in [one["kind"] for one in seeded.findings()]) is holds_the_gil


def test_the_time_without_a_core_is_first_that_of_tasks_that_compute_once() -> None:
    """The kinds have an order, which isn't another one in each process: costs of others depend on it."""
    counts = no_free_core.KIND.counts
    assert [kind for kind in counts if kind in OWN] == [
        ThreadKind.COMPUTING,
        ThreadKind.RECOMPUTING,
        ThreadKind.FAILED,
        ThreadKind.UNFINISHED,
    ]


@pytest.mark.parametrize(("used", "has_core"), [(10.0, False), (190.0, True)])
def test_what_tasks_lose_without_a_core_is_no_waiting_for_data(
    used: float, has_core: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks compute for a second, and half a second passes until those that need four of them begin. Costs
    are sums, as of a window with too many tasks to be simulated."""
    monkeypatch.setattr(reading, "MOST_COMPUTATIONS", 10)
    needed = [tuple(f"work-{(place + step) % 32}" for step in (0, 5, 10, 15)) for place in range(32)]
    merges = [Task(f"merge-{place}", 0.05, some) for place, some in enumerate(needed)]
    seeded = Simulated([*futures(32, 1.0), *merges], WORKERS, bandwidth=8_000)
    for worker in range(WORKERS):
        for metric, value in ((WANTED, 200.0), (USED, used), (WORKER, 0.02), (WORKER_OWN, 0.02)):
            seeded.sample(metric, value, 0, seeded.makespan, worker=worker)
    with read_connection() as connection:
        answer = findings(connection, Scope(seeded.record()), 0, MAXIMUM_TIME)
    found = {one["kind"]: one["thread_seconds"] for one in answer["findings"]}
    assert ("no-free-core" not in found) is has_core
    moved = sum(stop - start for start, stop, *_ in seeded.transfers)
    assert found.get("transfers") == pytest.approx(moved, rel=0.1), found
