"""Runs a watcher of a real scheduler, and reads the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from django.db import connection

from observatory.base.redis_server import connect_async
from observatory.clusters.models import Project, Target
from observatory.collect.collector.clusters.open_pages import OpenPages
from observatory.collect.collector.clusters.registry import MetricHelps
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.leases.claims import Claims
from observatory.collect.collector.leases.lease import Leases
from observatory.collect.collector.load.admission import Admission
from observatory.collect.collector.load.pace import Pace
from observatory.collect.collector.load.process_load import ProcessLoad
from observatory.collect.collector.shared import Shared
from observatory.collect.collector.status_rows import StatusRows
from observatory.collect.collector.watcher import Watcher
from observatory.collect.collector.writing.writer_threads import WriterThreads
from observatory.collect.http.fetch import HttpClient


def rows(query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())


async def read(query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """The rows of a query on the test's database."""
    return await run_in_django_thread(rows, query, *parameters)


async def eventually(look: Callable[[], Any], seconds: float = 120.0, what: str = "it") -> Any:
    """Awaits look() until its result is true, and returns it."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        found = await look()
        if found:
            return found
        assert asyncio.get_running_loop().time() < deadline, f"{what} didn't happen within {seconds} s"
        await asyncio.sleep(0.1)


async def event_kinds(cluster: int | None = None) -> list[str]:
    query = "SELECT kind FROM event WHERE %s::int IS NULL OR cluster_id = %s ORDER BY time"
    return [kind for (kind,) in await read(query, cluster, cluster)]


def make_target(url: str, **fields: Any) -> Target:
    project, _ = Project.objects.get_or_create(name="Tests", slug="tests")
    values = {"metrics_interval": 1.0, "identity_interval": 0.5, "name": url, **fields}
    return Target.objects.create(project=project, url=url, **values)


@asynccontextmanager
async def observed(url: str, **fields: Any) -> AsyncIterator[Watcher]:
    """A running watcher of the scheduler at `url`."""
    target = await run_in_django_thread(make_target, url, **fields)
    async with watching(target) as watcher:
        yield watcher


@asynccontextmanager
async def watching(target: Target, *others: Target, redis_database: int = 0) -> AsyncIterator[Watcher]:
    """A running watcher of a target, with those of others beside it.

    One with another `redis_database` is that of another Observatory.
    """
    server = connect_async()
    server.connection_pool.connection_kwargs["db"] = redis_database
    leases = Leases("test")
    await run_in_django_thread(leases.take, 1000)

    async def renew() -> None:
        while True:
            await asyncio.sleep(2)
            await run_in_django_thread(leases.renew)

    async with HttpClient() as client:
        slots = asyncio.Semaphore(100)
        shared = Shared(
            client,
            Claims(server),
            OpenPages(server),
            leases,
            Counters(),
            slots,
            load := ProcessLoad(),
            WriterThreads(),
            pace := Pace(leases),
            StatusRows(leases.holder, pace),
            Admission(load),
            MetricHelps(),
        )
        watcher, *beside = (Watcher(each, shared) for each in (target, *others))
        tasks = [asyncio.create_task(each.run()) for each in (watcher, *beside)]
        tasks.append(asyncio.create_task(renew()))
        try:
            yield watcher
            assert not tasks[0].done(), tasks[0].exception()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await run_in_django_thread(leases.release, {each.pk for each in (target, *others)})
            await server.aclose()
