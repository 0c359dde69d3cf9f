"""A real scheduler appears in a list, its cluster is recorded; it disappears there, and its cluster ends."""

from __future__ import annotations

import asyncio
from typing import Any

from observatory.clusters.models import Cluster, Discovery
from observatory.collect.collector.collector import Collector
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.tasks import discover
from tests.collect.dask_processes import scheduler
from tests.collect.discovery.lists import make_discovery, serving
from tests.collect.observer import eventually


async def cluster() -> Cluster | None:
    return await run_in_django_thread(Cluster.objects.first)


async def is_recorded() -> bool:
    found = await cluster()
    return found is not None and found.is_live


async def is_ended() -> bool:
    found = await cluster()
    return found is not None and not found.is_live


def look_now() -> None:
    """What Celery does when the interval has passed."""
    Discovery.objects.update(looked=None)
    discover(0)


async def test_a_cluster_is_recorded_as_long_as_it_is_listed(store: None) -> None:
    groups: list[dict[str, Any]] = []
    with serving(lambda path, query: groups) as server, scheduler() as dask:
        await run_in_django_thread(make_discovery, "http_sd", f"{server.url}/targets", identity_interval=0.5)
        collector = Collector()
        running = asyncio.create_task(collector.run())
        try:
            await run_in_django_thread(look_now)
            assert await cluster() is None
            groups.append(
                {"targets": [dask.url.removeprefix("http://")], "labels": {"dask_cluster": "nightly"}}
            )
            await run_in_django_thread(look_now)
            await eventually(is_recorded, what="the recording")
            groups.clear()
            await run_in_django_thread(look_now)
            assert await is_recorded(), "one answer without it ended it"
            await run_in_django_thread(look_now)
            await eventually(is_ended, what="the end")
            recorded = await cluster()
            assert recorded is not None
            assert (recorded.name, recorded.target_id) == ("nightly", None)
            assert "no longer observed" in recorded.end_reason
        finally:
            collector.stop()
            await running
