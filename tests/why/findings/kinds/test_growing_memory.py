"""Memory that tasks leave on a worker, and what it leads to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from observatory.wire.records import WorkerGone
from tests.support.recorded_cluster import START
from tests.why.findings.kinds.test_kinds import assert_saves
from tests.why.findings.simulated import GIB, Pause, Simulated, futures

pytestmark = pytest.mark.django_db(transaction=True)


def with_memory(level: Callable[[float], float], **options: object) -> Simulated:
    """240 tasks of a second on eight threads. Worker 1, of 4 GiB, has `level` at each time."""
    simulated = Simulated(futures(240, 1.0), **options)  # type: ignore[arg-type]
    for step in range(round(simulated.makespan * 2)):
        now = step / 2
        for worker in range(4):
            value = level(now) if worker == 1 else 0.3 * GIB
            simulated.sample(
                "observatory_worker_memory_bytes", value, now, now, worker=worker, type="unmanaged"
            )
    return simulated


def rising(begin: float, end: float) -> Callable[[float], float]:
    """2 GiB more between two times, and no less afterwards."""
    return lambda now: (0.3 + 2 * min(1.0, max(0.0, (now - begin) / (end - begin)))) * GIB


def test_memory_that_grew_in_a_part_of_the_window_and_stayed_is_found_with_when() -> None:
    [finding] = with_memory(rising(8, 18)).findings()
    assert finding["kind"] == "growing-memory"
    assert finding["sentence"].startswith(
        "Unmanaged memory grew steadily on 1 worker (w1 (tcp://10.0.0.1:4000))"
    )
    assert finding["sentence"].endswith("and did not come back. It stayed there.")
    times = [moment["time"] - START for moment in finding["moments"]]
    assert times == [pytest.approx(8, abs=1.5), pytest.approx(18, abs=1.5)]
    assert finding["thread_seconds"] == 0


def test_memory_that_still_grows_at_the_end_says_when_it_is_full() -> None:
    [finding] = with_memory(rising(16, 30)).findings()
    assert "At this rate the first one is full after another 1" in finding["sentence"]


def test_a_pause_after_a_growth_costs_what_the_pause_took() -> None:
    seeded = with_memory(rising(2, 12), pauses=[Pause(1, 12, 32)])
    [finding] = seeded.findings()
    assert finding["kind"] == "growing-memory"
    assert_saves(finding, seeded, Simulated(futures(240, 1.0)))
    assert "Then threads were paused for" in finding["sentence"]


def test_a_pause_is_a_pause_until_the_worker_dies() -> None:
    """Tasks were on it, which never began; that it closed in the end makes no loss of the time before."""
    seeded = with_memory(rising(2, 12), pauses=[Pause(1, 12, 90)])
    address = "tcp://10.0.0.1:4000"
    for key in ("stuck-1", "stuck-2"):
        seeded.transitions += [
            (START + 11, key, "released", "waiting", "", "made-up"),
            (START + 11.1, key, "waiting", "processing", address, "made-up"),
            (START + 39.9, key, "processing", "released", "", "made-up"),
        ]
    seeded.gone.append(WorkerGone(address, START + 39.8, "lost"))
    seeded.makespan = 40.0
    found = seeded.findings()
    paused = next(one for one in found if one["kind"] in ("growing-memory", "memory-full"))
    assert paused["thread_seconds"] >= 2 * 26
    assert not any(
        "of work was lost with it" in one["sentence"] and one["thread_seconds"] > 10 for one in found
    )


@pytest.mark.parametrize(
    "level",
    [
        lambda now: (2.5 if 5 < now < 20 else 0.3) * GIB,
        lambda now: (0.3 if now < 10 else 2.0) * GIB,
        lambda now: (0.3 + 1.8 * (now % 10) / 10) * GIB,
        lambda now: (0.3 + 0.4 * now / 30) * GIB,
        lambda now: (0.3 + max(0.0, now - 29) * 1.5) * GIB,
    ],
    ids=["held for a while", "one step", "comes back each time", "little", "of the last task"],
)
def test_memory_that_comes_back_or_is_a_step_is_no_leak(level: Callable[[float], float]) -> None:
    assert [one["kind"] for one in with_memory(level).findings()] == []
