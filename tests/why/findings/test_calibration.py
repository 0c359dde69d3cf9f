"""How many intervals of costs hold the truth, of made-up clusters with a cause and without it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.findings.answer import findings
from tests.why.findings.simulated import Death, Pause, Simulated, Task, futures, map_reduce, tree

pytestmark = pytest.mark.django_db(transaction=True)

Case = tuple[str, Simulated, Simulated]
"""the kind of finding, a cluster with its cause, and without it"""


def graphs(chance: random.Random) -> list[Task]:
    """Of some shape, with durations that differ."""
    count = chance.randrange(60, 140)
    tasks = chance.choice([
        lambda: futures(count, 0.5),
        lambda: map_reduce(count, 0.6, 8),
        lambda: [*futures(count, 0.4), *tree([f"work-{place}" for place in range(count)], 0.3)],
    ])()  # fmt: skip
    return [replace(task, seconds=task.seconds * chance.uniform(0.8, 1.25)) for task in tasks]


def straggler(chance: random.Random) -> Case:
    tasks = graphs(chance)
    long = chance.choice(tasks[: len(tasks) // 2]).key
    seeded = [replace(task, seconds=chance.uniform(6, 14)) if task.key == long else task for task in tasks]
    return "stragglers", Simulated(seeded), Simulated(tasks)


def slow_worker(chance: random.Random) -> Case:
    tasks = graphs(chance)
    return "slow-worker", Simulated(tasks, slowness={1: chance.uniform(2.5, 4)}), Simulated(tasks)


def death(chance: random.Random) -> Case:
    tasks = graphs(chance)
    dies = Death(2, chance.uniform(3, 4.5), restarts_after=chance.uniform(2, 6))
    return "worker-died", Simulated(tasks, deaths=[dies]), Simulated(tasks)


def pause(chance: random.Random) -> Case:
    tasks = graphs(chance)
    first = chance.uniform(1, 3)
    return "memory-full", Simulated(tasks, pauses=[Pause(1, first, first + 5)]), Simulated(tasks)


def late(chance: random.Random) -> Case:
    tasks = graphs(chance)
    joins = {number: chance.uniform(2, 6) for number in (2, 3)}
    return "late-workers", Simulated(tasks, joins=joins), Simulated(tasks)


def data(chance: random.Random) -> Case:
    count = chance.randrange(48, 96)
    step = chance.randrange(5, 40)
    loads = [Task(f"load-{place}", chance.uniform(0.4, 0.6), nbytes=10**8) for place in range(count)]
    uses = [
        Task(f"use-{place}", chance.uniform(0.4, 0.6), (f"load-{place}", f"load-{(place + step) % count}"))
        for place in range(count)
    ]
    bandwidth = chance.uniform(5e7, 2e8)
    return (
        "transfers",
        Simulated([*loads, *uses], bandwidth=bandwidth),
        Simulated([*loads, *uses], bandwidth=1e12),
    )


CAUSES: tuple[Callable[[random.Random], Case], ...] = (straggler, slow_worker, death, pause, late, data)


def measured() -> Iterator[tuple[str, float, dict[str, Any]]]:
    """What the run without the cause saved, and the finding, where it was found and simulated."""
    for number in range(48):
        kind, seeded, without = CAUSES[number % len(CAUSES)](random.Random(number))
        with read_connection() as connection:
            found = findings(connection, Scope(seeded.record()), 0, MAXIMUM_TIME)["findings"]
        for one in found[:1]:
            if one["kind"] == kind and one["least_wall_seconds"] is not None:
                yield kind, seeded.makespan - without.makespan, one


def test_about_eight_of_ten_intervals_hold_what_is_saved_without_the_cause() -> None:
    cases = list(measured())
    shown = [
        f"{kind}: saved {saved:.2f}, cost {one['wall_seconds']:.2f} "
        f"({one['least_wall_seconds']:.2f} to {one['most_wall_seconds']:.2f})"
        for kind, saved, one in cases
    ]
    held = [one["least_wall_seconds"] <= saved <= one["most_wall_seconds"] for _, saved, one in cases]
    close = [abs(one["wall_seconds"] - saved) <= 0.3 * max(saved, 0.5) for _, saved, one in cases]
    print("\n".join(shown), sum(held) / len(held), sum(close) / len(close))
    assert len(cases) >= 24
    assert 0.7 <= sum(held) / len(held) <= 0.95, shown
    assert sum(close) / len(close) >= 0.85, shown
