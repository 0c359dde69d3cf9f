"""A handshake with the event stream of a busy scheduler is completed, also when nobody waits for it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from observatory.collect.http.addresses import stream_url
from observatory.collect.http.fetch import HttpClient
from observatory.collect.http.handshakes import Handshakes
from observatory.collect.stream.subscription import Subscription
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import eventually


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scheduler]:
    with scheduler(workers=1, log=tmp_path_factory.mktemp("handshakes") / "scheduler.log") as running:
        yield running


@asynccontextmanager
async def unanswered(dask: Scheduler, client: HttpClient) -> AsyncIterator[asyncio.Task[str]]:
    """A subscription whose handshake the scheduler has received and not answered."""
    client.trust(dask.url)
    dask.process.send_signal(signal.SIGSTOP)
    try:
        subscription = Subscription(client, stream_url(dask.url))
        listening = asyncio.create_task(subscription.listen(lambda: None, lambda text: None))
        await eventually(lambda: asyncio.sleep(0, has_connection(client)), what="the request")
        yield listening
    finally:
        dask.process.send_signal(signal.SIGCONT)


def has_connection(client: HttpClient) -> bool:
    return bool(client.unpooled.connector and client.unpooled.connector._acquired)


def subscribers(dask: Scheduler) -> list[str]:
    """Runs tasks; returns the names of the scheduler's plugins for event streams."""

    def plugins(dask_scheduler: object) -> list[str]:
        return [name for name in dask_scheduler.plugins if name == "websocket"]  # type: ignore[attr-defined]

    with dask.client() as client:
        client.gather(client.map(abs, range(20), pure=False))
        found: list[str] = client.run_on_scheduler(plugins)
        return found


async def test_a_cancelled_subscription_leaves_nothing_on_a_busy_scheduler(dask: Scheduler) -> None:
    async with HttpClient() as client:
        async with unanswered(dask, client) as listening:
            listening.cancel()
            await asyncio.wait([listening])
        await client.handshakes.complete(60)
        assert await asyncio.to_thread(subscribers, dask) == []
    assert "WebSocketClosedError" not in Path(str(dask.log)).read_text()


async def test_a_client_that_closes_completes_its_handshakes_first(dask: Scheduler) -> None:
    async with HttpClient() as client, unanswered(dask, client) as listening:
        listening.cancel()
        await asyncio.wait([listening])
    assert await asyncio.to_thread(subscribers, dask) == []
    assert "WebSocketClosedError" not in Path(str(dask.log)).read_text()


async def test_who_subscribes_again_joins_the_handshake_under_way(dask: Scheduler) -> None:
    async with HttpClient() as client:
        async with unanswered(dask, client) as listening:
            listening.cancel()
            await asyncio.wait([listening])
            second = asyncio.create_task(client.handshakes.connect(stream_url(dask.url), 60))
            await asyncio.sleep(0)
            assert len(client.handshakes._under_way) == 1
        socket = await second
        assert await asyncio.to_thread(subscribers, dask) == ["websocket"]
        await socket.close()
        assert await asyncio.to_thread(subscribers, dask) == []


async def test_a_failed_handshake_is_forgotten() -> None:
    async with HttpClient() as client:
        client.trust("http://127.0.0.1:9")
        handshakes = Handshakes(client.session)
        for _ in range(2):
            with pytest.raises(OSError, match="Cannot connect"):
                await handshakes.connect("ws://127.0.0.1:9/eventstream", 20)
        assert not handshakes._under_way


async def test_an_unused_socket_is_closed_though_its_peer_never_stops_sending() -> None:
    requested, answered, stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def flood(request: web.Request) -> web.StreamResponse:
        requested.set()
        await answered.wait()
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        try:
            while True:
                await socket.send_str("[]" * 2**15)
        finally:
            stopped.set()

    application = web.Application()
    application.router.add_get("/eventstream", flood)
    async with TestServer(application) as peer, HttpClient() as client:
        client.trust(str(peer.make_url("/")))
        waiting = asyncio.create_task(client.handshakes.connect(str(peer.make_url("/eventstream")), 60))
        await requested.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        answered.set()
        await asyncio.wait_for(stopped.wait(), 60)
