"""What a collector does while nothing answers and nothing changes."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from observatory.clusters.models import Target
from observatory.collect.collector.collector import IDLE_INTERVAL, TABLE_INTERVAL, Collector
from tests.collect.dask_processes import scheduler
from tests.collect.observer import event_kinds, eventually, make_target, observed

pytestmark = pytest.mark.usefixtures("store")


def statements(collector: Collector) -> int:
    """Those of a round, with the renewal of the leases."""
    with CaptureQueriesContext(connection) as queries:
        targets, held = collector._read_table()
        assert not targets.available
        assert targets.enabled == len(held) == len(collector.leases.held)
        collector.leases.renew()
    return len(queries)


@pytest.mark.parametrize("count", [1, 20])
def test_a_round_without_changes_asks_three_statements_whatever_the_number_of_targets(count: int) -> None:
    for number in range(count):
        make_target(f"http://127.0.0.1:{number + 1}")
    collector = Collector()
    assert collector.leases.available().available == count
    collector.leases.take(count)
    assert statements(collector) == 3
    make_target("http://127.0.0.1:9999")
    assert collector.leases.available().available == 1


def test_of_a_target_that_is_watched_the_row_is_read_whole_only_when_a_setting_changes() -> None:
    first, second = make_target("http://127.0.0.1:1"), make_target("http://127.0.0.1:2")
    collector = Collector()
    collector.leases.take(2)
    watched: list[Any] = collector._held()
    assert {target.pk for target in watched} == {first.pk, second.pk}
    for target in watched:
        collector.watchers[target.pk] = SimpleNamespace(target=target), None  # type: ignore[assignment]
    with CaptureQueriesContext(connection) as queries:
        assert sorted(map(id, collector._held())) == sorted(map(id, watched))
    assert len(queries) == 1
    Target.objects.filter(pk=first.pk).update(metrics_interval=30)
    [changed] = [target for target in collector._held() if target.pk == first.pk]
    assert changed.metrics_interval == 30
    Target.objects.filter(pk=second.pk).delete()
    assert [target.pk for target in collector._held()] == [first.pk]


def test_many_targets_are_read_less_often() -> None:
    collector = Collector()
    collector.watchers[1] = SimpleNamespace(observation=object()), None  # type: ignore[assignment]
    assert [collector.table_interval(number) for number in (1, 50, 100, 1000)] == [1, 1, 2, IDLE_INTERVAL]


async def test_of_a_target_whose_scheduler_is_gone_only_the_poll_goes_on() -> None:
    asked: Counter[str] = Counter()

    def counted(name: str, current: Any) -> Any:
        def call() -> Any:
            asked[name] += 1
            return current()

        return call

    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            for name in ("subscriber", "scraper", "departures"):
                part = getattr(watcher, name)
                part.current = counted(name, part.current)
            await eventually(lambda: asyncio.sleep(0, set(asked) == {"subscriber", "scraper", "departures"}))
            collector = Collector()
            collector.watchers[watcher.target.pk] = watcher, asyncio.create_task(asyncio.sleep(0))
            collector.leases.held = {watcher.target.pk}
            assert collector.table_interval(1) == TABLE_INTERVAL
            dask.stop()

            async def has_ended() -> bool:
                return "cluster-ended" in await event_kinds() and watcher.observation is None

            await eventually(has_ended)
            await asyncio.sleep(2)  # what was under way ends
            before, failures = Counter(asked), watcher.polls.failures
            await eventually(lambda: asyncio.sleep(0, watcher.polls.failures >= failures + 3))
            assert asked == before
            assert collector.table_interval(1) == IDLE_INTERVAL
            # another collector has one, which is taken over if that dies
            assert collector.table_interval(2) == TABLE_INTERVAL
            # another scheduler at the address is observed as before
            dask.start()
            await eventually(lambda: asyncio.sleep(0, watcher.observation is not None))
            await eventually(lambda: asyncio.sleep(0, all(asked[name] > before[name] for name in before)))
