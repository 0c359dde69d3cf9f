"""Rechunking: what it costs, and when it is none."""

from __future__ import annotations

import pytest

from tests.why.findings.simulated import Simulated, Task, futures

pytestmark = pytest.mark.django_db(transaction=True)
SIDE = 6


def rechunked(times: int, seconds: float, nbytes: int = 1_000) -> list[Task]:
    """Rows to columns and back: each chunk needs one of each chunk before."""
    tasks = [Task(f"load-{place}", 1.0, (), nbytes) for place in range(SIDE)]
    before = [task.key for task in tasks]
    for turn in range(times):
        merged = [Task(f"rechunk-{turn}-{place}", seconds, tuple(before), nbytes) for place in range(SIDE)]
        tasks += merged
        before = [task.key for task in merged]
    return [*tasks, *(Task(f"sum-{place}", 1.0, (key,)) for place, key in enumerate(before))]


def test_chunks_that_are_changed_again_and_again_cost_their_tasks_and_data() -> None:
    cluster = {"workers": 3, "threads": 2, "bandwidth": 20e6}
    seeded = Simulated(rechunked(4, 0.8, 2_000_000), **cluster)
    without = Simulated(rechunked(0, 0.8, 2_000_000), **cluster)
    found = seeded.findings()
    assert [one["kind"] for one in found] == ["rechunk"], [one["sentence"] for one in found]
    [finding] = found
    saved = seeded.makespan - without.makespan
    assert finding["wall_seconds"] == pytest.approx(saved, rel=0.2)
    assert finding["least_wall_seconds"] <= saved <= finding["most_wall_seconds"]
    assert finding["sentence"].startswith(
        "24 tasks of rechunk, 67 % of all, brought arrays into other chunks"
    )


def test_a_short_change_of_chunks_and_other_prefixes_are_none() -> None:
    assert Simulated(rechunked(1, 0.1), workers=3).findings() == []
    assert Simulated(futures(80, prefix="rechunked")).findings() == []
