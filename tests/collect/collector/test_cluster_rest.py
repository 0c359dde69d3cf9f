"""A cluster in which nothing happens is asked and written less often, until something does."""

from __future__ import annotations

import pytest

from observatory.alerts.evaluation import watermark
from observatory.alerts.evaluation.window import data
from observatory.collect.collector.clusters import rest as cluster_rest
from observatory.collect.collector.clusters.rest import Rest
from observatory.collect.collector.leases.lease import Leases
from observatory.collect.collector.load.pace import LONGEST_BETWEEN_LOOKS, Pace
from observatory.collect.collector.watcher import COMMITTED_MARGIN, Watcher
from observatory.collect.scheduler.identity import Counts
from observatory.replay import progress
from observatory.store.late_records import LATENESS
from observatory.store.series import counters
from tests.collect.collector.test_open_pages import page
from tests.collect.dask_processes import scheduler
from tests.collect.observer import eventually, observed, read

STORED = """SELECT count(*) FILTER (WHERE metric = 'observatory_cluster_clients'),
    count(*) FILTER (WHERE metric = 'dask_scheduler_clients'),
    count(*) FILTER (WHERE metric = 'dask_worker_threads')
    FROM sample JOIN series ON series.id = series_id"""
SPANS = "SELECT count(*) FROM span"
NEVER = 1e6
IDLE = Counts({"workers": 4, "memory": 3})


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rest begins soon, and nothing is asked or written in it."""
    monkeypatch.setattr(cluster_rest, "BEGINS", 2.0)
    monkeypatch.setattr(cluster_rest, "LONGER", NEVER)
    monkeypatch.setattr(cluster_rest, "BETWEEN_BATCHES", NEVER)


async def resting(watcher: Watcher) -> None:
    async def look() -> bool:
        return watcher.rest.is_now and watcher.observation is not None

    await eventually(look, what="a rest")


@pytest.mark.usefixtures("store", "endless")
async def test_what_a_client_does_after_a_rest_is_stored_as_usual_from_the_first_task_on() -> None:
    with scheduler(workers=2) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: read(f"{STORED} HAVING count(*) > 0"))
            await resting(watcher)
            [before] = await read(STORED)
            with dask.client() as client:
                client.gather(client.map(lambda number: number, range(10)))

                async def has_all() -> bool:
                    [(spans,)] = await read(SPANS)
                    [after] = await read(STORED)
                    return spans >= 10 and all(new > old for new, old in zip(after, before, strict=True))

                await eventually(has_all, what="a poll, scrapes and all spans")


@pytest.mark.usefixtures("store", "endless")
async def test_a_page_that_is_opened_ends_the_rest() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            await resting(watcher)
            assert watcher.observation is not None
            [before] = await read(STORED)
            async with page(watcher.observation.cluster.pk):

                async def has_more() -> bool:
                    [after] = await read(STORED)
                    return after[0] > before[0] + 2 and watcher.has_pages

                await eventually(has_more, what="polls at the target's own interval")
                assert not watcher.rest.is_now
            await resting(watcher)


@pytest.mark.usefixtures("store", "endless")
async def test_a_worker_that_joins_or_leaves_ends_the_rest() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            await resting(watcher)
            second = dask.start_worker("second", 1, "--no-nanny")

            async def is_known() -> bool:
                return await read("SELECT count(*) FROM worker") == [(2,)]

            await eventually(is_known, what="the second worker")
            await resting(watcher)
            moved = watcher.rest.moved_at
            second.terminate()

            async def has_ended() -> bool:
                return watcher.rest.moved_at > moved

            await eventually(has_ended, what="the end of the rest")


@pytest.mark.parametrize("name", cluster_rest.WORKING)
def test_a_cluster_with_tasks_to_be_done_does_not_rest(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_rest, "BEGINS", 0.0)
    woken: list[bool] = []
    one = Rest(lambda: woken.append(True))
    assert one.is_now
    working = Counts({**IDLE.values, name: 1})
    one.polled(IDLE, is_announced=True)
    one.polled(IDLE, is_announced=True)
    assert len(woken) == 1  # the first counts
    one.polled(working, is_announced=True)
    one.polled(working, is_announced=True)
    one.polled(IDLE, is_announced=True)
    assert len(woken) == 4


async def test_workers_of_many_clusters_are_looked_at_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []

    async def tick(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(cluster_rest, "tick", tick)
    pace = Pace(Leases("test"))
    one = Rest(lambda: None, lambda: pace.between_looks)
    for targets in (1, 20, 150, 10_000):
        pace.leases.held = set(range(targets))
        await one.tick(0.25, at_rest=5.0)
    assert waited == [0.25, 0.25, 1.5, LONGEST_BETWEEN_LOOKS]


def test_a_cluster_whose_work_would_not_be_announced_does_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_rest, "BEGINS", 0.0)
    woken: list[bool] = []
    one = Rest(lambda: woken.append(True))
    for _ in range(3):
        one.polled(IDLE, is_announced=False)
    assert len(woken) == 3


def test_a_rest_is_no_gap_for_those_who_read() -> None:
    longest = 1.1 * cluster_rest.LONGER  # with the spread of the requests
    assert longest < min(counters.MAXIMUM_GAP, data.MISSED_INTERVALS, progress.MAXIMUM_AGE)
    assert cluster_rest.BETWEEN_BATCHES + COMMITTED_MARGIN + LATENESS + 2 < watermark.GRACE
