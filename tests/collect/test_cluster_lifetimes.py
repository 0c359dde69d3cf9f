"""A scheduler that goes, hangs, comes back or is replaced: each is told as what it was."""

from __future__ import annotations

import asyncio
import signal
import time

import pytest
from dask_processes import scheduler
from observer import event_kinds, eventually, observed, read, watching

from observatory.clusters.models import Cluster
from observatory.collect.registry import in_database

pytestmark = pytest.mark.usefixtures("store")


async def clusters() -> list[Cluster]:
    return await in_database(lambda: list(Cluster.objects.order_by("started")))


async def test_a_new_scheduler_is_a_new_cluster_and_the_old_one_ended_when_it_was_last_seen() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: read("SELECT 1 FROM worker"))
            killed = time.time()
            dask.kill()
            await asyncio.to_thread(dask.start)
            await eventually(lambda: asyncio.sleep(0, watcher.observation and watcher.failures == 0))
            first, second = await eventually(lambda: two(clusters))
            assert first.ended is not None
            assert first.last_seen.timestamp() <= killed + 0.1
            assert abs(first.ended.timestamp() - killed) < 1.5
            assert first.end_reason == "another scheduler answers at its address"
            assert second.ended is None
            assert second.scheduler_id != first.scheduler_id
            await eventually(lambda: ended_kinds(first.pk))
            ends = await read("SELECT end_reason FROM worker WHERE cluster_id = %s", first.pk)
            assert ends == [("cluster-ended",)]


async def two(look) -> list[Cluster] | None:
    found = await look()
    return found if len(found) == 2 and found[0].ended else None


async def ended_kinds(cluster: int) -> bool:
    return "cluster-ended" in await event_kinds(cluster)


async def test_a_scheduler_that_refuses_connections_has_ended_when_it_was_last_seen() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url):
            await eventually(clusters)
            await asyncio.sleep(2)
            killed = time.time()
            dask.kill()
            ended = await eventually(lambda: ended_cluster(), 20)
            assert abs(ended.ended.timestamp() - killed) < 1.5
            assert "gone" in ended.end_reason
            await eventually(lambda: ended_kinds(ended.pk))
            assert "scheduler-unreachable" not in await event_kinds()
            assert "stream-lost" not in await event_kinds()


async def ended_cluster() -> Cluster | None:
    return await in_database(Cluster.objects.exclude(ended=None).first)


async def test_a_scheduler_that_hangs_is_a_gap_and_goes_on_as_the_same_cluster() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url):
            await eventually(clusters)
            await asyncio.sleep(2)
            dask.process.send_signal(signal.SIGSTOP)
            stopped = time.time()
            await eventually(lambda: has_event("scheduler-unreachable"), 15)
            dask.process.send_signal(signal.SIGCONT)
            await eventually(lambda: has_event("scheduler-reachable"), 15)
            await eventually(lambda: has_event("stream-resumed"), 20)
            (gap,) = await read(
                "SELECT extract(epoch FROM time)::float8 FROM event WHERE kind = 'scheduler-unreachable'"
            )
            assert abs(gap[0] - stopped) < 1.5
            samples = await read(
                """SELECT metric FROM sample JOIN series ON series.id = series_id
                   WHERE worker_id IS NULL AND time > to_timestamp(%s) AND time < to_timestamp(%s)""",
                gap[0] + 1,
                gap[0] + 3,
            )
            assert samples == []
            (cluster,) = await clusters()
            assert cluster.ended is None


async def has_event(kind: str) -> bool:
    return kind in await event_kinds()


async def test_a_cluster_that_was_thought_gone_is_opened_again_when_its_scheduler_answers() -> None:
    with scheduler() as dask:
        async with observed(dask.url):
            await eventually(clusters)
        (cluster,) = await clusters()
        await in_database(lambda: Cluster.objects.update(ended=cluster.started, end_reason="gone"))
        target = await in_database(lambda: Cluster.objects.get().target)
        async with watching(target):
            await eventually(lambda: has_event("scheduler-reachable"))
            (again,) = await clusters()
            assert again.pk == cluster.pk
            assert again.ended is None
            assert again.end_reason == ""
