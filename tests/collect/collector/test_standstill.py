"""A collector that stands still, or whose clock or whose scheduler's clock is set."""

from __future__ import annotations

import asyncio
import time

import pytest
from distributed import Client
from django.db import connection
from django.db.models import F

from observatory.clusters.models import Target
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.watcher import Watcher
from tests.collect.dask_processes import scheduler
from tests.collect.observer import event_kinds, eventually, observed, read, rows, watching

pytestmark = pytest.mark.usefixtures("store")

STOPPED = 8.0


def gaps() -> list[tuple[float, float, str]]:
    return rows(
        """SELECT (detail->>'first')::float8, (detail->>'last')::float8, detail->>'message'
           FROM event WHERE kind = 'not-observed' ORDER BY time"""
    )


async def found_gaps() -> list[tuple[float, float, str]]:
    return await run_in_django_thread(gaps)


def fail(client: Client) -> None:
    client.gather(client.map(lambda x: 1 / 0, range(3), key="fail"), errors="skip")


async def is_receiving(watcher: Watcher) -> bool:
    return watcher.subscriber.state == Target.Stream.RECEIVING


async def test_a_collector_that_stood_still_tells_a_gap_and_that_events_happened_in_it() -> None:
    with scheduler(workers=1) as dask, dask.client() as client:
        async with observed(dask.url) as watcher:
            await eventually(lambda: is_receiving(watcher))
            await eventually(lambda: read("SELECT 1 FROM sample LIMIT 1"))
            working = asyncio.get_running_loop().run_in_executor(None, fail_later, client)
            stopped = time.time()
            time.sleep(STOPPED)  # nothing in this process runs on, as while it is stopped
            woke = time.time()
            await working
            ((first, last, message),) = await eventually(found_gaps)
            assert abs(first - stopped) < 3
            assert abs(last - woke) < 3
            assert "the collector stood still for" in message
            told = "SELECT detail->>'message' FROM event WHERE kind IN ('tasks-erred', 'graph-updated')"
            messages = await eventually(lambda: has_both(told))
            assert all("some time in the" in message for message in messages)
            assert "scheduler-unreachable" not in await event_kinds()


def fail_later(client: Client) -> None:
    time.sleep(1)
    fail(client)


async def has_both(query: str) -> list[str]:
    found = [message for (message,) in await read(query)]
    return found if len(found) >= 2 else []


@pytest.mark.parametrize(
    ("jump", "said"),
    [(3600.0, "slept, or its clock was set forward, by 3600 s"), (-20.0, "set back by 20 s")],
)
async def test_a_jump_of_the_collectors_clock_is_a_gap_that_is_never_negative(jump: float, said: str) -> None:
    with scheduler() as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.observation))
            watcher.standstill.time -= jump
            ((first, last, message),) = await eventually(found_gaps)
            assert last - first == pytest.approx(abs(jump), abs=5)
            assert said in message


async def test_a_gap_in_which_the_schedulers_clock_was_set_back_is_told_with_its_length() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: read("SELECT 1 FROM worker"))
            await eventually(lambda: read("SELECT 1 FROM extent WHERE committed > '2000-01-01'"))
            target = watcher.target
        left = time.time()
        await run_in_django_thread(set_scheduler_clock_ahead, target, 20.0)
        await asyncio.sleep(4)
        target = await run_in_django_thread(lambda: Target.objects.get(pk=target.pk))
        async with watching(target):
            ((first, last, message),) = await eventually(found_gaps)
            assert first < last
            assert abs(first - left) < 4
            assert last >= left + 4
            assert "clock was set back by" in message


def set_scheduler_clock_ahead(target: Target, seconds: float) -> None:
    """As if what is recorded were from a scheduler whose clock was ahead by so much."""
    Target.objects.filter(pk=target.pk).update(clock_offset=F("clock_offset") + seconds)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE extent SET committed = committed + make_interval(secs => %s)", [seconds])
