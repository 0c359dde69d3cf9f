"""Workers of which the scheduler heard nothing for a while, though it had them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from observatory.wire.records import WorkerGone
from tests.support.recorded_cluster import START
from tests.why.findings.kinds.test_kinds import assert_saves, changed, first
from tests.why.findings.simulated import Simulated, Task, futures

pytestmark = pytest.mark.django_db(transaction=True)


def heard(simulated: Simulated, silent: tuple[float, float], known_until: float | None = None) -> None:
    """Heartbeats of all workers, without those of worker 1 in a time."""
    for worker in range(4):
        stop = simulated.makespan if worker != 1 or known_until is None else known_until
        simulated.sample("observatory_worker_processing_tasks", 2, 0, stop, worker=worker)
        times = [(0.0, silent[0]), (silent[1], stop)] if worker == 1 else [(0.0, stop)]
        for begin, end in times:
            simulated.sample("observatory_worker_cpu_percent", 3.0, begin, max(begin, end), worker=worker)


def stopped(tasks: Sequence[Task], seconds: float) -> Simulated:
    """Two tasks, which worker 1 ran at once, took that much longer."""
    on_it = [span for span in Simulated(tasks).spans if span.worker == "tcp://10.0.0.1:4000"]
    both = [span for span in on_it if span.start >= START + 3][:2]
    for span in both:
        tasks = changed(tasks, span.key, seconds=0.5 + seconds)
    return Simulated(tasks)


def test_a_worker_that_stands_still_is_silent_and_its_tasks_are_no_stragglers() -> None:
    tasks = futures(160, 0.5)
    seeded = stopped(tasks, 15.0)
    heard(seeded, (3.0, 18.0))
    finding = first(seeded.findings(), "silent-worker")
    assert_saves(finding, seeded, Simulated(tasks))
    assert finding["sentence"].startswith("w1 (tcp://10.0.0.1:4000) went silent for 15.")
    assert finding["sentence"].endswith("and 2 tasks on it stood still.")
    assert [round(moment["time"] - START) for moment in finding["moments"]] == [3, 18]


@pytest.mark.parametrize(
    ("own", "modules", "kinds"), [(15.0, 0, ["silent-worker"]), (0.5, 0, []), (15.0, 800, [])]
)
def test_a_worker_is_not_silent_while_it_imports_or_has_no_core(
    own: float, modules: int, kinds: list[str]
) -> None:
    """The first heartbeat after the silence tells."""
    seeded = stopped(futures(160, 0.5), 15.0)
    heard(seeded, (3.0, 18.0))
    for metric, value in (("event_loop_interval_seconds", 15.0), ("event_loop_own_interval_seconds", own)):
        seeded.sample(f"observatory_worker_{metric}", value, 18.0, 18.0, worker=1)
    seeded.sample("observatory_worker_imported_modules", modules, 18.0, 18.0, worker=1)
    found = [one["kind"] for one in seeded.findings()]
    assert [kind for kind in found if kind == "silent-worker"] == kinds


def test_the_same_tasks_of_a_worker_that_was_heard_are_stragglers() -> None:
    seeded = stopped(futures(160, 0.5), 15.0)
    heard(seeded, (3.0, 3.5))
    assert [one["kind"] for one in seeded.findings()] == ["stragglers"]


def test_a_worker_that_is_silent_without_tasks_costs_nothing() -> None:
    seeded = Simulated(futures(240, 0.5))
    heard(seeded, (2.0, 14.0))
    assert seeded.findings() == []


def test_a_gap_of_the_recording_is_no_silence() -> None:
    seeded = stopped(futures(160, 0.5), 15.0)
    heard(seeded, (3.0, 18.0))
    seeded.samples[:] = [one for one in seeded.samples if not START + 3 < one.time < START + 18]
    assert "silent-worker" not in [one["kind"] for one in seeded.findings()]


def test_a_worker_that_was_silent_before_it_died_died_and_the_rest_waited_for_it() -> None:
    seeded = Simulated(futures(64, 0.5))
    address = "tcp://10.0.0.1:4000"
    seeded.transitions += [
        (START + 2.0, "stuck-1", "released", "waiting", "", "made-up"),
        (START + 2.1, "stuck-1", "waiting", "processing", address, "made-up"),
        (START + 24.0, "stuck-1", "processing", "released", "", "made-up"),
    ]
    seeded.gone.append(WorkerGone(address, START + 24.0, "lost"))
    seeded.makespan = 24.5
    heard(seeded, (4.0, 24.0), known_until=23.9)
    [finding] = [one for one in seeded.findings() if one["kind"] == "worker-died"]
    assert "It had been silent for 20 s: the scheduler heard nothing of it." in finding["sentence"].replace(
        ".0 s", " s"
    )
    # 20 seconds with nothing else to do; never more than the window
    assert finding["wall_seconds"] == pytest.approx(20, rel=0.2)
