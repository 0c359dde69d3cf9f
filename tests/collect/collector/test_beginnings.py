"""Many targets that begin together are observed a few at a time, so that the first are stored at once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from observatory.clusters.models import Target
from observatory.collect.collector import collector as collector_module
from observatory.collect.collector.collector import TABLE_INTERVAL, Collector
from observatory.collect.collector.load.admission import LARGEST_OF_BEGINNINGS, Admission, Demand
from observatory.collect.collector.load.beginnings import (
    LONGEST_BEGINNING,
    MOST_BEGINNING,
    MOST_BEGINNING_UNDER_LOAD,
    first_in_turn,
)
from observatory.collect.collector.load.process_load import ProcessLoad
from observatory.collect.collector.watcher import FIRST_BATCHES
from tests.collect.dask_processes import scheduler
from tests.collect.observer import eventually, observed


class Observed:
    """Stands in for a watcher, which begins until it is told otherwise."""

    observation = None

    def __init__(self, target: Target, shared: Any) -> None:
        self.target = target
        self.is_beginning = True

    async def run(self) -> None:
        await asyncio.Event().wait()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Collector:
    monkeypatch.setattr(collector_module, "Watcher", Observed)
    made = Collector()
    made.shared = SimpleNamespace(admission=Admission(ProcessLoad()))  # type: ignore[assignment]
    return made


def targets(count: int, project: int = 1, first: int = 1) -> list[Target]:
    return [Target(pk=first + number, project_id=project) for number in range(count)]


async def follow(collector: Collector, held: list[Target]) -> set[int]:
    collector.leases.held = {target.pk for target in held}
    await collector._follow_table(held)
    return set(collector.watchers)


async def test_others_begin_when_those_before_them_are_stored(collector: Collector) -> None:
    held, admission = targets(MOST_BEGINNING + 10), collector.shared.admission
    begun = await follow(collector, held)
    assert begun == {target.pk for target in held[:MOST_BEGINNING]}
    assert admission.has_beginnings
    assert collector.table_interval(1_000) == TABLE_INTERVAL, "the next may begin soon"
    assert await follow(collector, held) == begun
    for pk in (1, 2, 3):
        collector.watchers[pk][0].is_beginning = False  # type: ignore[misc]
    assert await follow(collector, held) == begun | {
        MOST_BEGINNING + 1,
        MOST_BEGINNING + 2,
        MOST_BEGINNING + 3,
    }
    for watcher, _ in collector.watchers.values():
        watcher.is_beginning = False  # type: ignore[misc]
    assert len(await follow(collector, held)) == len(held)
    assert not admission.has_beginnings
    await collector._stop_watchers(set(collector.watchers))


async def test_fewer_begin_at_a_time_while_the_process_has_too_much_to_do(collector: Collector) -> None:
    admission = collector.shared.admission
    admission.load.lateness = 1.1
    assert len(await follow(collector, targets(MOST_BEGINNING))) == MOST_BEGINNING_UNDER_LOAD
    admission.load.lateness = 0.0
    assert len(await follow(collector, targets(MOST_BEGINNING))) == MOST_BEGINNING
    admission.load.pressure = 1.1
    admission.adjust()
    assert admission.most_beginning == MOST_BEGINNING_UNDER_LOAD
    await collector._stop_watchers(set(collector.watchers))


def test_a_project_with_many_targets_keeps_none_of_another_waiting() -> None:
    many, few = targets(100), targets(2, project=2, first=500)
    assert [target.pk for target in first_in_turn([*many, *few], 6)] == [1, 500, 2, 501, 3, 4]
    assert first_in_turn(many, -1) == []


@pytest.mark.parametrize("has_beginnings", [True, False])
def test_what_begins_makes_the_intervals_of_others_little_longer(has_beginnings: bool) -> None:
    """Their first records take long, and no fewer at longer intervals: recovery once took a minute."""
    budget = Admission(ProcessLoad())
    budget.demands[0] = Demand(1, 100.0, 0.0)
    budget.load.pressure, budget.has_beginnings = 1.5, has_beginnings
    for _ in range(60):
        budget.adjust()
    assert (budget.factor == LARGEST_OF_BEGINNINGS) is has_beginnings
    longest = budget.factor
    budget.has_beginnings = True
    budget.adjust()
    assert budget.factor == longest, "further targets change nothing"


@pytest.mark.usefixtures("store")
async def test_a_target_begins_until_its_first_scrapes_are_stored() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            assert watcher.is_beginning
            await eventually(lambda: asyncio.sleep(0, not watcher.is_beginning))
            assert watcher.flusher.batches_written >= FIRST_BATCHES
            assert watcher.shared.counters.rows["sample"] > 0
            watcher.flusher.batches_written = 0
            assert watcher.is_beginning
            watcher.began -= LONGEST_BEGINNING
            assert not watcher.is_beginning, "it keeps no other waiting"


@pytest.mark.usefixtures("store")
async def test_a_target_that_does_not_answer_keeps_no_other_waiting() -> None:
    async with observed("http://127.0.0.1:9") as watcher:
        await eventually(lambda: asyncio.sleep(0, not watcher.is_beginning))
        assert not watcher.flusher.batches_written
