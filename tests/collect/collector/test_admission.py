"""Overload makes intervals longer, fairly, and no longer than it lasts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory.clusters.models import Cluster
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.load import line as line_module
from observatory.collect.collector.load.admission import (
    LARGEST_FACTOR,
    LARGEST_GROWTH,
    LARGEST_OF_OTHERS,
    LEAST_SHARE,
    LONGEST_WAIT,
    OF_SCHEDULERS,
    Admission,
    Demand,
    shared_factors,
)
from observatory.collect.collector.load.line import Line
from observatory.collect.collector.load.process_load import ProcessLoad
from observatory.collect.workers.scraping import LONGEST_WAIT as LONGEST_INTERVAL
from observatory.collect.workers.scraping import slowed
from tests.collect.dask_processes import scheduler
from tests.collect.observer import event_kinds, eventually, observed

MINUTE = 60
"""rounds"""


def admission(*demands: Demand) -> Admission:
    made = Admission(ProcessLoad())
    made.demands = dict(enumerate(demands))
    return made


@pytest.mark.parametrize("overload", [0.5, 1.0, 2.0, 4.0, 10.0])
def test_what_is_fetched_stays_near_what_the_process_can_do(overload: float) -> None:
    budget = admission(Demand(1, 100.0, 0.0))
    done = []
    for _ in range(3 * MINUTE):
        asked = overload / budget.of_workers(1)
        budget.load.pressure = asked
        done.append(asked)
        budget.adjust()
    after = done[MINUTE // 2 :]
    assert sum(after) / len(after) > 0.95 * min(1.0, overload)
    assert max(after) < 1.15


def test_a_minute_after_the_overload_all_intervals_are_as_they_are_set() -> None:
    budget = admission(Demand(1, 100.0, 0.0))
    budget.load.pressure = 9.0
    for _ in range(MINUTE):
        budget.adjust()
    assert budget.of_workers(1) == LARGEST_FACTOR
    budget.load.pressure = 0.5
    for _ in range(MINUTE):
        budget.adjust()
    assert budget.of_workers(1) == budget.of_schedulers(1) == 1.0


def test_workers_are_read_less_often_before_schedulers_are() -> None:
    budget = admission(Demand(1, 100.0, 0.0))
    budget.load.pressure = 1.2
    seen = []
    while budget.of_workers(1) < LARGEST_FACTOR:
        budget.adjust()
        seen.append((budget.of_workers(1), budget.of_schedulers(1)))
    assert all(of_schedulers == 1.0 for of_workers, of_schedulers in seen if of_workers <= OF_SCHEDULERS)
    assert seen[-1][1] == LARGEST_FACTOR / OF_SCHEDULERS


def test_records_that_wait_for_the_database_make_it_less_but_not_those_of_few_targets() -> None:
    slow = Demand(1, 1.0, 2 * LONGEST_WAIT)
    quick = Demand(1, 1.0, 0.1)
    budget = admission(slow, quick, quick)
    for _ in range(MINUTE):
        budget.adjust()
    assert budget.factor == 1.0, "the rows of one cluster are locked"
    budget.demands[1] = slow
    for _ in range(MINUTE):
        budget.adjust()
    assert budget.factor > 4.0, "as long as they wait"
    budget.demands[1] = quick
    for _ in range(MINUTE):
        budget.adjust()
    assert budget.factor == 1.0


@dataclass
class Second:
    factor: float
    waited: float
    stored: float
    """as a share of what the database could store"""


INTERVAL_OF_WORKERS, WORKERS = 10.0, 400
AT_ONCE = WORKERS / INTERVAL_OF_WORKERS
"""scrapes a second at the interval that is set"""


async def fetched_and_stored(capacities: list[float]) -> list[Second]:
    """What becomes of a collector whose database stores so many scrapes in each second."""
    budget = admission(Demand(1, 1.5 * AT_ONCE, 0.0, AT_ONCE))
    due = {worker: INTERVAL_OF_WORKERS * worker / WORKERS for worker in range(WORKERS)}
    in_line: dict[int, asyncio.Task[None]] = {}
    queue, found = 0.0, []
    for second, capacity in enumerate(capacities):
        for step in range(10):
            now = second + step / 10
            for worker in [worker for worker, time in due.items() if time <= now]:
                del due[worker]
                in_line[worker] = asyncio.ensure_future(budget.line.turn(1))
            await asyncio.sleep(0)
            budget.line.let_pass(0.1)
            await asyncio.sleep(0)
            for worker in [worker for worker, turn in in_line.items() if turn.done()]:
                del in_line[worker]
                due[worker] = now + INTERVAL_OF_WORKERS
                queue += 1.0
        stored = min(queue, capacity)
        queue -= stored
        budget.demands[0] = replace(budget.demands[0], waited=queue / capacity)
        budget.adjust()
        found.append(Second(budget.factor, queue / capacity, stored / capacity))
    for turn in in_line.values():
        turn.cancel()
    return found


@pytest.mark.parametrize("overload", [1.2, 2.0, 4.0, 6.0])
async def test_what_is_fetched_comes_to_rest_at_what_the_database_stores(overload: float) -> None:
    """The queue once grew to 240,000 records and was empty again, in turn."""
    found = await fetched_and_stored([AT_ONCE / overload] * 5 * MINUTE)
    assert max(each.waited for each in found) < 6 * LONGEST_WAIT
    rest = found[2 * MINUTE :]
    assert sum(each.stored for each in rest) / len(rest) > 0.98, "it always has work"
    assert max(each.waited for each in rest) < 2.5 * LONGEST_WAIT
    assert max(each.factor for each in rest) < 1.3 * min(each.factor for each in rest)


async def test_a_minute_after_the_database_is_quick_again_all_is_fetched_and_at_no_time_at_once() -> None:
    slow = [AT_ONCE / 6] * 3 * MINUTE
    found = await fetched_and_stored([*slow, *[10 * AT_ONCE] * 2 * MINUTE])
    assert found[len(slow) - 1].factor > 4.0
    after = found[len(slow) + MINUTE :]
    assert {each.factor for each in after} == {1.0}
    assert sum(each.stored for each in after) / len(after) == pytest.approx(0.1, rel=0.05)
    assert max(each.stored for each in found[len(slow) + 5 :]) < 0.25


async def test_a_request_waits_in_line_until_those_before_it_have_passed() -> None:
    line = Line()
    await line.turn(1)  # there is no line
    line.rates = {1: 2.0}
    turns = [asyncio.ensure_future(line.turn(project)) for project in (1, 1, 1, 2)]
    await asyncio.sleep(0)
    assert [turn.done() for turn in turns] == [False, False, False, True], "another project has none"
    turns[0].cancel()
    await asyncio.sleep(0)
    assert [line.let_pass(0.5) for _ in range(3)] == [1, 1, 0]
    await asyncio.sleep(0)
    assert [turn.done() for turn in turns[1:3]] == [True, True]
    again = [asyncio.ensure_future(line.turn(1)) for _ in range(5)]
    await asyncio.sleep(0)
    line.rates = {}
    assert line.let_pass(0.1) == 5, "the overload is over"
    await asyncio.gather(*again)


def test_a_machine_that_only_others_keep_busy_changes_nothing() -> None:
    budget = admission(Demand(1, 1.0, 0.0))
    budget.load.pressure, budget.load.lateness = 0.9 * LEAST_SHARE, 40.0
    budget.adjust()
    assert budget.factor == 1.0


@pytest.mark.parametrize("busy", [1.1, 40.0])
def test_a_machine_that_others_keep_busy_as_well_makes_it_an_eighth_at_least(busy: float) -> None:
    budget = admission(Demand(1, 1.0, 1_000.0))
    budget.load.pressure, budget.load.lateness = 1.1 * LEAST_SHARE, busy
    for _ in range(2 * MINUTE):
        budget.adjust()
    assert budget.factor == LARGEST_OF_OTHERS
    budget.load.pressure = 2.0  # there is work of its own
    for _ in range(MINUTE):
        budget.adjust()
    assert budget.factor == LARGEST_FACTOR
    budget.load.pressure = 0.9
    for _ in range(MINUTE):
        budget.adjust()
    assert budget.factor == LARGEST_OF_OTHERS


def test_without_targets_nothing_is_asked_for() -> None:
    budget = admission()
    budget.load.pressure = 2.0
    budget.adjust()
    assert 1.0 < budget.of_workers(7) <= LARGEST_GROWTH


def test_a_project_that_asks_for_less_than_its_share_keeps_its_intervals() -> None:
    factors = shared_factors({1: 10.0, 2: 1_000.0, 3: 500.0}, 2.0)
    assert factors[1] == 1.0
    # 755 requests a second are left: 10 go to the first, and the others have half of the rest each
    assert 1_000.0 / factors[2] == pytest.approx(500.0 / factors[3])


@given(
    st.dictionaries(st.integers(0, 20), st.floats(0.01, 1e5), min_size=1),
    st.floats(1.0, LARGEST_FACTOR),
)
def test_all_projects_together_get_the_budget_and_none_more_than_one_that_lacks(
    requests: dict[int, float], factor: float
) -> None:
    factors = shared_factors(requests, factor)
    given = {project: requests[project] / factors[project] for project in requests}
    assert sum(given.values()) == pytest.approx(sum(requests.values()) / factor)
    assert all(each >= 1.0 for each in factors.values())
    lacking = [given[project] for project in requests if factors[project] > 1.0 + 1e-9]
    if lacking:
        assert max(given.values()) <= min(lacking) * (1 + 1e-9)


def test_an_interval_is_never_longer_than_a_minute_unless_it_is_set_so() -> None:
    assert slowed(5.0, 2.0) == 10.0
    assert slowed(5.0, LARGEST_FACTOR) == LONGEST_INTERVAL
    assert slowed(300.0, LARGEST_FACTOR) == 300.0


async def test_a_late_event_loop_lets_pass_what_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy collector would otherwise be given a tenth of its budget, and be idle for the rest."""
    line = Line()
    line.rates = {1: 5.0}
    turns = [asyncio.ensure_future(line.turn(1)) for _ in range(20)]
    await asyncio.sleep(0)
    clock = iter([0.0, 0.0, 2.0, 2.0])
    monkeypatch.setattr(line_module, "monotonic", lambda: next(clock))
    await line.run(1.0)
    await asyncio.sleep(0)
    assert sum(turn.done() for turn in turns) == 10
    for turn in turns:
        turn.cancel()


@pytest.mark.usefixtures("store")
async def test_the_interval_is_recorded_as_it_was_and_the_time_of_overload_is_an_event() -> None:
    def intervals() -> tuple[float, float]:
        return Cluster.objects.values_list("identity_interval", "metrics_interval").get()

    with scheduler(workers=1) as dask:
        async with observed(dask.url, identity_interval=0.5, metrics_interval=1.0) as watcher:
            budget = watcher.shared.admission
            await eventually(lambda: asyncio.sleep(0, watcher.target.pk in budget.demands))
            asked = budget.demands[watcher.target.pk]
            assert asked.project == watcher.target.project_id
            assert asked.requests == pytest.approx(2 / 1.0 + 2 / 0.5)
            budget.factor = 3.0
            await eventually(lambda: run_in_django_thread(lambda: intervals() == (1.5, 3.0)))
            budget.factor = 1.0
            await eventually(lambda: run_in_django_thread(lambda: intervals() == (0.5, 1.0)))

            async def is_recorded() -> bool:
                return "scraping-slowed" in await event_kinds()

            await eventually(is_recorded)
        assert watcher.target.pk not in budget.demands
