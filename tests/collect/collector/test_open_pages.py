"""Which clusters have open pages, and what that changes for the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.layers import get_channel_layer

from observatory.base.redis_server import connect_async
from observatory.collect.collector.clusters.open_pages import OpenPages
from observatory.collect.collector.clusters.rest import BETWEEN_BATCHES
from observatory.collect.collector.load.pace import LONGEST_BETWEEN_BATCHES, LONGEST_BETWEEN_POLLS
from observatory.store.blocks.live_frames import group_of
from tests.collect.dask_processes import scheduler
from tests.collect.observer import eventually, observed

CLUSTERS = range(900_000, 900_050)


class CountingRedis:
    """Redis, and what is asked for."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.requests: list[Iterable[str]] = []

    async def pubsub_numsub(self, *channels: str) -> Any:
        self.requests.append(channels)
        return await self.server.pubsub_numsub(*channels)


@asynccontextmanager
async def page(cluster: int) -> AsyncIterator[None]:
    """An open page, as it joins the cluster's group."""
    layer = get_channel_layer()
    assert layer is not None
    channel = await layer.new_channel()
    await layer.group_add(group_of(cluster), channel)
    yield
    await layer.group_discard(group_of(cluster), channel)


@asynccontextmanager
async def asked() -> AsyncIterator[CountingRedis]:
    server = connect_async()
    yield CountingRedis(server)
    await server.aclose()


async def test_a_cluster_has_open_pages_from_when_one_joins_until_the_last_one_leaves() -> None:
    async with asked() as server:
        pages = OpenPages(server)  # type: ignore[arg-type]
        assert not await pages.has(CLUSTERS[0])
        async with page(CLUSTERS[0]):
            assert await pages.has(CLUSTERS[0])
            assert not await pages.has(CLUSTERS[1])
        assert not await pages.has(CLUSTERS[0])


async def test_clusters_that_ask_at_the_same_time_share_a_request_and_get_their_own_answers() -> None:
    async with asked() as server, page(CLUSTERS[7]):
        pages = OpenPages(server)  # type: ignore[arg-type]
        answers = await asyncio.gather(*map(pages.has, CLUSTERS))
        assert [cluster for cluster, answer in zip(CLUSTERS, answers, strict=True) if answer] == [CLUSTERS[7]]
        assert len(server.requests) <= 2


async def test_one_that_asks_while_a_request_is_on_its_way_gets_the_answer_of_a_later_one() -> None:
    async with asked() as server:
        pages = OpenPages(server)  # type: ignore[arg-type]
        first = asyncio.create_task(pages.has(CLUSTERS[0]))
        await eventually(lambda: asyncio.sleep(0, len(server.requests) == 1))
        async with page(CLUSTERS[0]):
            assert await pages.has(CLUSTERS[0])
        await first


async def test_a_request_that_is_cancelled_leaves_the_others_their_answer() -> None:
    async with asked() as server, page(CLUSTERS[1]):
        pages = OpenPages(server)  # type: ignore[arg-type]
        first, second = (asyncio.create_task(pages.has(cluster)) for cluster in CLUSTERS[:2])
        await asyncio.sleep(0)
        first.cancel()
        assert await second


async def test_without_an_answer_of_redis_pages_are_taken_to_be_open() -> None:
    class Unreachable:
        async def pubsub_numsub(self, *_: str) -> Any:
            raise OSError("unreachable")

    assert await OpenPages(Unreachable()).has(1)  # type: ignore[arg-type]


@pytest.mark.usefixtures("store")
async def test_among_many_targets_a_cluster_without_open_pages_is_asked_and_written_less_often() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url, identity_interval=1.0) as watcher:
            await eventually(lambda: asyncio.sleep(0, not watcher.is_beginning))
            assert watcher._between_batches() <= 0.1, "a single target"
            assert watcher.polls.wait(0) < 1.2
            watcher.shared.leases.held |= set(range(10_000, 10_019))
            assert watcher._between_batches() == pytest.approx(20 / 10)
            assert 1.7 < watcher.polls.wait(0) < 2.3
            watcher.shared.leases.held |= set(range(20_000, 30_000))
            assert watcher._between_batches() == LONGEST_BETWEEN_BATCHES
            watcher.shared.admission.factor = 1.5
            assert watcher._between_batches() == 1.5 * LONGEST_BETWEEN_BATCHES, "there is too much to do"
            watcher.shared.admission.factor = 64.0
            assert watcher._between_batches() == BETWEEN_BATCHES
            watcher.flusher.batches_written = 0
            assert watcher._between_batches() == LONGEST_BETWEEN_BATCHES, "others wait until it has begun"
            watcher.shared.admission.factor = 1.0
            assert watcher.polls.wait(0) > 0.8 * LONGEST_BETWEEN_POLLS
            assert watcher.observation is not None
            async with page(watcher.observation.cluster.pk):
                await eventually(lambda: asyncio.sleep(0, watcher.has_pages))
                assert watcher._between_batches() == 0.0
                assert watcher.polls.wait(0) < 1.2
            await eventually(lambda: asyncio.sleep(0, not watcher.has_pages))
            watcher.shared.leases.held = {watcher.target.pk}
