"""Several subscribers compete for the event stream of one scheduler, which serves one at a time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager

import aiohttp
import pytest

from observatory.clusters.live.status import target_status
from observatory.clusters.models import Project, Target
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.watcher import Watcher
from observatory.collect.stream import stolen_stream
from observatory.runtime.health.checks import targets as checked_targets
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import eventually, observed, read, watching

pytestmark = pytest.mark.usefixtures("store")

OTHERS_REDIS = 1
YIELDED, CONTESTED, RECEIVING = Target.Stream.YIELDED, Target.Stream.CONTESTED, Target.Stream.RECEIVING


@contextmanager
def steady_work(dask: Scheduler) -> Iterator[None]:
    """Short tasks, one after the other, for as long as the block lasts."""
    is_over = threading.Event()

    def compute() -> None:
        with dask.client() as client:
            while not is_over.is_set():
                client.gather(client.map(lambda x: time.sleep(0.05), range(20), pure=False))

    worker = threading.Thread(target=compute)
    worker.start()
    try:
        yield
    finally:
        is_over.set()
        worker.join()


def becomes(watcher: Watcher, *states: Target.Stream) -> Awaitable[bool]:
    return eventually(lambda: asyncio.sleep(0, watcher.subscriber.shown_state in states), what=str(states))


@asynccontextmanager
async def another_observatory(dask: Scheduler) -> AsyncIterator[Watcher]:
    """A watcher that shares neither project nor claims with the first one."""
    other = await run_in_django_thread(Project.objects.create, name="Other", slug="other")
    target = await run_in_django_thread(
        lambda: Target.objects.create(
            project=other, name="same", url=dask.url, identity_interval=0.5, metrics_interval=1
        )
    )
    async with watching(target, redis_database=OTHERS_REDIS) as watcher:
        yield watcher


@asynccontextmanager
async def two_observatories(dask: Scheduler) -> AsyncIterator[tuple[Watcher, Watcher]]:
    """Watchers of one scheduler that know nothing of each other."""
    async with observed(dask.url) as one:
        await becomes(one, RECEIVING)
        async with another_observatory(dask) as two:
            yield one, two


async def stored(watcher: Watcher, query: str) -> int:
    assert watcher.observation is not None
    [(count,)] = await read(query, watcher.observation.cluster.pk)
    return int(count)


async def grows(watcher: Watcher, query: str) -> None:
    before = await stored(watcher, query)

    async def has_grown() -> bool:
        return await stored(watcher, query) > before

    await eventually(has_grown, what=query)


SPANS = "SELECT count(*) FROM span WHERE cluster_id = %s"
SAMPLES = "SELECT count(*) FROM sample WHERE cluster_id = %s"
LOST = "SELECT detail->>'message' FROM event WHERE cluster_id = %s AND kind = 'stream-lost' ORDER BY time"
LOSSES = "SELECT count(*) FROM event WHERE cluster_id = %s AND kind = 'stream-lost'"
OPEN_GAP = (
    "SELECT count(*) FILTER (WHERE kind = 'stream-lost') - count(*) FILTER (WHERE kind = 'stream-resumed')"
    " FROM event WHERE cluster_id = %s"
)


async def test_one_of_two_observatories_yields_and_the_other_keeps_the_stream() -> None:
    with scheduler(workers=2, threads=1) as dask, steady_work(dask):
        async with two_observatories(dask) as pair:
            await eventually(
                lambda: asyncio.sleep(0, any(each.subscriber.shown_state is YIELDED for each in pair)),
                what="one of them yields",
            )
            yielding, keeping = sorted(pair, key=lambda each: each.subscriber.shown_state is not YIELDED)
            await becomes(keeping, CONTESTED)
            await grows(keeping, SPANS)
            # it keeps the stream without a pause, and the other one goes on with all but the stream
            gaps = await stored(keeping, LOSSES)
            spans = await stored(yielding, SPANS)
            for _ in range(4):
                await grows(keeping, SPANS)
                await grows(yielding, SAMPLES)
            assert yielding.subscriber.shown_state is YIELDED
            assert keeping.subscriber.shown_state is CONTESTED
            assert gaps == await stored(keeping, LOSSES)
            assert spans == await stored(yielding, SPANS)
            # tasks that are missing are a gap that says why
            assert await stored(yielding, OPEN_GAP) == 1
            assert await stored(keeping, OPEN_GAP) == 0
            assert yielding.observation is not None
            messages = [text for (text,) in await read(LOST, yielding.observation.cluster.pk)]
            assert "twice within ten minutes" in messages[-1]
            # both say so
            for each, word in ((yielding, "yielded"), (keeping, "contested")):
                await says(each, word)


async def says(watcher: Watcher, word: str) -> None:
    """Its target and `doctor` tell people that another subscriber took the stream, and what to do."""

    def status() -> tuple[str, str]:
        found = target_status(Target.objects.get(pk=watcher.target.pk))
        return found.word, found.sentence

    async def is_told() -> bool:
        return (await run_in_django_thread(status))[0] == word

    await eventually(is_told, what=word)
    _, sentence = await run_in_django_thread(status)
    assert "Another subscriber, perhaps a second Observatory, took the event stream" in sentence
    [check] = [
        result
        for result in await run_in_django_thread(lambda: list(checked_targets()))
        if result.component == f"target {watcher.target.name}"
    ]
    assert not check.ok
    assert "perhaps a second Observatory" in check.text
    assert "lose the other subscriber" in check.remedy


async def test_one_that_yielded_tries_once_more_and_yields_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stolen_stream, "YIELD", 4.0)
    tries = "SELECT count(*) FROM event WHERE cluster_id = %s AND kind = 'stream-resumed'"
    with scheduler(workers=2, threads=1) as dask, steady_work(dask):
        async with two_observatories(dask) as (one, two):
            await becomes(one, YIELDED)
            returned = await stored(one, tries)
            await eventually(lambda: _more(one, tries, returned), what="it tries again")
            await becomes(one, YIELDED)
            # the other one took it back, and one of both has it
            await becomes(two, CONTESTED)
            await grows(two, SPANS)


async def _is_closed(watcher: Watcher) -> bool:
    return await stored(watcher, OPEN_GAP) == 0


async def _more(watcher: Watcher, query: str, than: int) -> bool:
    return await stored(watcher, query) > than


async def test_the_stream_is_taken_back_when_the_other_observatory_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stolen_stream, "YIELD", 4.0)
    with scheduler(workers=2, threads=1) as dask, steady_work(dask):
        async with observed(dask.url) as watcher:
            await becomes(watcher, RECEIVING)
            async with another_observatory(dask):
                await becomes(watcher, YIELDED)
            await becomes(watcher, RECEIVING, CONTESTED)
            await grows(watcher, SPANS)
            await eventually(lambda: _is_closed(watcher), what="the gap's end")


async def test_a_subscriber_that_insists_gets_the_stream_of_one_that_is_no_observatory() -> None:
    with scheduler(workers=2, threads=1) as dask, steady_work(dask):
        async with observed(dask.url) as watcher, aiohttp.ClientSession() as session:
            await becomes(watcher, RECEIVING)
            await grows(watcher, SPANS)
            async with session.ws_connect(f"{dask.url}/eventstream"):
                await becomes(watcher, CONTESTED)
                await grows(watcher, SPANS)
                # it is displaced once more within ten minutes
                async with session.ws_connect(f"{dask.url}/eventstream") as insistent:
                    await becomes(watcher, YIELDED)
                    heard = await insistent.receive()
                    assert heard.type is aiohttp.WSMsgType.TEXT
                    await says(watcher, "yielded")
                    await grows(watcher, SAMPLES)
                    # the subscriber that is no Observatory keeps receiving
                    for _ in range(40):
                        assert (await insistent.receive(60)).type is aiohttp.WSMsgType.TEXT
                    assert watcher.subscriber.shown_state is YIELDED


async def test_a_stream_that_was_not_taken_after_all_ends_the_yield(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a scheduler announced nothing for a while because its keys are of bytes."""
    with scheduler(workers=1, threads=1) as dask:
        async with observed(dask.url) as watcher:
            await becomes(watcher, RECEIVING)
            assert watcher.observation is not None
            watcher.subscriber.displacements.resumed(time.monotonic())
            monkeypatch.setattr(watcher.observation.stolen_stream, "is_stolen", lambda now: True)
            await becomes(watcher, YIELDED)
            monkeypatch.undo()
            with steady_work(dask):
                await becomes(watcher, CONTESTED)
                await grows(watcher, SPANS)
            await eventually(lambda: _is_closed(watcher), what="the gap's end")


async def test_another_scheduler_at_the_address_is_subscribed_at_once() -> None:
    with scheduler(workers=2, threads=1) as dask:
        async with observed(dask.url) as watcher:
            await becomes(watcher, RECEIVING)
            watcher.subscriber.displacements.resumed(time.monotonic())
            with steady_work(dask):
                async with aiohttp.ClientSession() as session, session.ws_connect(f"{dask.url}/eventstream"):
                    await becomes(watcher, YIELDED)
            dask.stop()
            dask.start()
            dask.start_workers(1, 1)
            await becomes(watcher, RECEIVING)
            with steady_work(dask):
                await grows(watcher, SPANS)
