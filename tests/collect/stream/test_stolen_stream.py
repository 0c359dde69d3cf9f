"""Another subscriber takes the event stream: this is detected, recorded and reverted."""

from __future__ import annotations

import asyncio
import time

import aiohttp
import pytest

from observatory.clusters.models import Project, Target
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.stream.stolen_stream import (
    YIELD,
    Displacements,
    StolenStreamDetector,
    yield_duration,
)
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import event_kinds, eventually, make_target, observed, read, watching

pytestmark = pytest.mark.usefixtures("store")


def steady_work(dask: Scheduler, tasks: int = 400) -> None:
    with dask.client() as client:
        client.gather(client.map(lambda x: time.sleep(0.05), range(tasks), pure=False))


async def has_event(kind: str) -> bool:
    return kind in await event_kinds()


async def test_a_stolen_stream_is_detected_and_subscribed_again() -> None:
    with scheduler(workers=2, threads=1) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.RECEIVING))
            work = asyncio.create_task(asyncio.to_thread(steady_work, dask, 600))
            await eventually(lambda: read("SELECT 1 FROM span"))
            async with aiohttp.ClientSession() as thief, thief.ws_connect(f"{dask.url}/eventstream"):
                await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.STOLEN))
                assert await eventually(
                    lambda: run_in_django_thread(Target.objects.filter(stream=Target.Stream.STOLEN).exists)
                )
                await eventually(
                    lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.RECEIVING)
                )
            # the thief's socket closing makes the scheduler forget whoever is subscribed: that is noticed too
            await eventually(lambda: has_event("stream-resumed"))
            await work
            kinds = await event_kinds()
            assert kinds.index("stream-lost") < kinds.index("stream-resumed")


async def test_failing_tasks_and_scattered_data_do_not_count_as_a_theft() -> None:
    def work(dask: Scheduler) -> None:
        with dask.client() as client:
            kept = []
            for number in range(12):
                kept.append(client.scatter(list(range(number + 1)), hash=False))
                failing = client.map(lambda x: 1 / 0, range(5), pure=False)
                client.gather(failing, errors="skip")
                time.sleep(0.5)

    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.RECEIVING))
            await asyncio.to_thread(work, dask)
            await asyncio.sleep(2.5)
            assert "stream-lost" not in await event_kinds()


async def test_two_targets_with_one_scheduler_do_not_compete_for_its_stream() -> None:
    with scheduler(workers=1) as dask:
        first = await run_in_django_thread(make_target, dask.url)
        other = await run_in_django_thread(Project.objects.create, name="Other", slug="other")
        second = await run_in_django_thread(
            lambda: Target.objects.create(
                project=other, name="same", url=dask.url, identity_interval=0.5, metrics_interval=1
            )
        )
        async with watching(first) as holder:
            await eventually(lambda: asyncio.sleep(0, holder.subscriber.state == Target.Stream.RECEIVING))
            async with watching(second) as follower:
                await eventually(lambda: asyncio.sleep(0, follower.subscriber.state == Target.Stream.STOLEN))
                await asyncio.to_thread(steady_work, dask, 40)
                await eventually(lambda: read("SELECT 1 FROM span WHERE action = 0 HAVING count(*) = 40"))
                assert holder.subscriber.state == Target.Stream.RECEIVING
                assert "stream-lost" not in await event_kinds()


def test_who_was_displaced_twice_in_ten_minutes_yields_for_an_hour_and_tries_once_more() -> None:
    displacements = Displacements()
    assert not displacements.must_yield(0)
    displacements.resumed(2)
    assert displacements.must_yield(600)
    assert not displacements.must_yield(603)
    displacements.resumed(700)
    displacements.resumed(700 + YIELD)
    assert displacements.must_yield(710 + YIELD)
    assert all(YIELD <= yield_duration() <= 1.1 * YIELD for _ in range(100))


def test_a_counter_that_grows_together_with_messages_is_no_theft() -> None:
    detector = StolenStreamDetector()
    detector.stream_opened(10)
    detector.add_compute_seconds({"inc": 1.0}, 11, 11.1)
    detector.message_received(12)
    detector.add_compute_seconds({"inc": 2.0}, 13, 13.1)
    assert not detector.is_stolen(20)
    detector.add_compute_seconds({"inc": 3.0}, 14, 14.1)
    assert not detector.is_stolen(15.2)
    detector.add_compute_seconds({"inc": 3.0}, 19, 19.1)
    assert not detector.is_stolen(19.5)
    assert detector.is_stolen(20.2)
    assert detector.received_until == 12


def test_a_page_with_the_counters_of_another_scheduler_is_no_theft() -> None:
    """Of two LocalClusters in one process, each answers with the counters of the other now and then."""
    detector = StolenStreamDetector()
    detector.stream_opened(10)
    own, another = {"inc": 1.0}, {"inc": 7.0, "dec": 1.0}
    for second, counters in enumerate([own, own, another, own, own, another, own], 11):
        detector.add_compute_seconds(counters, second, second + 0.1)
        assert not detector.is_stolen(second + 5)
