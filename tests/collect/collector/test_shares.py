"""Collectors share targets by what they cost: one with a large cluster has fewer of the small ones."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from observatory.clusters.models import Target
from observatory.collect.collector.collector import Collector
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.leases.cost import OF_CLUSTER, OF_SCRAPE, cost
from observatory.collect.collector.leases.lease import MOST_EXCESS, Leases
from tests.collect.dask_processes import scheduler
from tests.collect.observer import eventually, make_target, observed

pytestmark = pytest.mark.usefixtures("store")

LARGE, SMALL = cost(200, 5.0), cost(4, 5.0)


def targets(*costs: float) -> None:
    for number, each in enumerate(costs):
        make_target(f"http://127.0.0.1:{number + 1}", cost=each)


def held(leases: Leases) -> float:
    return sum(Target.objects.filter(pk__in=leases.held).values_list("cost", flat=True))


def balance(collectors: list[Leases]) -> int:
    """Has collectors release and take in turn until none does; returns how often one had to."""
    for rounds in count():
        share = collectors[0].available().cost / len(collectors)
        excesses = [each.excess(share) for each in collectors]
        for each, released in zip(collectors, excesses, strict=True):
            if released is not None:
                each.release({released})
        taken = [each.take(share) for each in collectors]
        if not any(taken):
            return rounds
    return -1


def test_two_collectors_that_begin_share_a_large_cluster_and_many_small_ones_by_cost() -> None:
    targets(LARGE, *[SMALL] * 50)
    one, other = Leases("one"), Leases("other")
    share = one.available().cost / 2
    one.take(share)
    other.take(share)
    assert len(one.held) + len(other.held) == 51
    assert abs(held(one) - held(other)) <= SMALL
    assert abs(len(one.held) - len(other.held)) > 15, "by number they would have 25 and 26"


@pytest.mark.parametrize("number", [2, 3])
def test_a_collector_that_has_all_gives_others_their_share_and_nothing_goes_to_and_fro(number: int) -> None:
    targets(LARGE, *[SMALL] * 50)
    first = Leases("0")
    first.take(1e9)
    collectors = [first, *(Leases(str(other)) for other in range(1, number))]
    rounds = balance(collectors)
    share = first.available().cost / number
    assert sum(len(each.held) for each in collectors) == 51
    assert all(abs(held(each) - share) <= SMALL + MOST_EXCESS * share for each in collectors)
    assert rounds <= 51 - len(first.held), "each brings a target to where it stays"
    assert balance(collectors) == 0


def test_a_cluster_larger_than_a_share_stays_where_it_is() -> None:
    targets(LARGE, SMALL)
    one, other = Leases("one"), Leases("other")
    one.take(1e9)
    balance([one, other])
    assert [held(one), held(other)] == [LARGE, SMALL]
    assert balance([one, other]) == 0


def test_a_little_more_than_a_share_is_no_reason_to_interrupt_an_event_stream() -> None:
    targets(*[SMALL] * 21)
    one, other = Leases("one"), Leases("other")
    one.take(11 * SMALL)
    other.take(10 * SMALL)
    Target.objects.filter(pk__in=one.held).update(cost=1.05 * SMALL)
    share = one.available().cost / 2
    assert held(one) > share
    assert one.excess(share) is None


async def test_a_collector_that_is_alone_releases_nothing_and_one_of_two_what_is_over_its_share() -> None:
    await run_in_django_thread(targets, SMALL, SMALL)
    collector = Collector()
    await run_in_django_thread(collector.leases.take, 1e9)
    await collector._give_up_excess(SMALL)
    assert len(collector.leases.held) == 2
    collector.alive = 2
    await collector._give_up_excess(SMALL)
    assert len(collector.leases.held) == 1


async def test_the_cost_is_that_of_the_workers_at_the_interval_that_is_set() -> None:
    def stored() -> float:
        return Target.objects.get().cost

    with scheduler(workers=2) as dask:
        async with observed(dask.url, metrics_interval=0.5) as watcher:
            expected = OF_CLUSTER + OF_SCRAPE * 2 / 0.5
            await eventually(lambda: run_in_django_thread(lambda: stored() == pytest.approx(expected)))
            watcher.target.metrics_interval = 4.0
            await eventually(lambda: run_in_django_thread(lambda: stored() < expected))
            assert await asyncio.sleep(0, watcher._cost(None)) == OF_CLUSTER
