"""The socket of a live page, with the served application and the real channel layer."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import uvicorn
from asgiref.sync import async_to_sync, sync_to_async
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from django.utils import timezone
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Cluster, Target
from observatory.config.asgi import application
from observatory.replay.live import consumers, subscription
from observatory.replay.live.consumers import MAXIMUM_PENDING, NOT_FOUND, SIGNED_OUT, TOO_SLOW, UNAVAILABLE
from observatory.store.blocks.live_frames import group_of
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.publishing.publication import publish
from observatory.store.ingest.writer import Writer
from observatory.wire.blocks import Block, decode, encode
from observatory.wire.records import Action, Span, WorkerGone

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def close_connections(transactional_db: None) -> AsyncIterator[None]:
    """Close the connection of the consumer's thread, so that the database can be dropped."""
    yield
    await database_sync_to_async(connections.close_all)()


@pytest.fixture
def frequent_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check access every 0.1 s."""
    monkeypatch.setattr(consumers, "CHECK_ACCESS_EVERY", 0.1)


def _headers(browser: Client) -> list[tuple[bytes, bytes]]:
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
    return [(b"origin", b"http://localhost"), (b"host", b"localhost"), (b"cookie", cookies.encode())]


def _socket(cluster: Cluster, browser: Client) -> WebsocketCommunicator:
    return WebsocketCommunicator(application, f"/ws/clusters/{cluster.pk}/live", _headers(browser))


async def _opened(cluster: Cluster, browser: Client) -> WebsocketCommunicator:
    """Open a socket with access; its first frame is the extent."""
    socket = _socket(cluster, browser)
    assert (await socket.connect())[0]
    [greeting] = decode(await socket.receive_from(5))
    assert (greeting.kind, greeting.meta["sequence"]) == ("extent", 0)
    return socket


async def _batch(socket: WebsocketCommunicator) -> dict[str, Block]:
    """Return the blocks of the next frame with a batch, by kind; states can precede or accompany it."""
    while True:
        blocks = {block.kind: block for block in decode(await socket.receive_from(5))}
        if "extent" in blocks:
            return blocks


async def _state(socket: WebsocketCommunicator) -> dict[str, Any]:
    """Return the next state."""
    return await _meta(socket, "state")


async def _meta(socket: WebsocketCommunicator, kind: str) -> dict[str, Any]:
    """Return the meta of the next block of a kind."""
    while True:
        for block in decode(await socket.receive_from(5)):
            if block.kind == kind:
                return dict(block.meta)


async def _closed_with(socket: WebsocketCommunicator) -> tuple[str, int]:
    """Return the reason and code with which the server closed the socket."""
    while isinstance(message := await socket.receive_from(5), bytes):
        assert [block.kind for block in decode(message)] == ["state"]
    reason = json.loads(message)["error"]
    return reason, (await socket.receive_output(5))["code"]


async def test_a_committed_batch_reaches_the_page_with_its_sequence(
    cluster: Cluster, member: Client, writer: Writer, now: float
) -> None:
    socket = await _opened(cluster, member)
    span = Span("tcp://127.0.0.1:1", 1, "inc-1", "inc", "inc", Action.COMPUTE, now, now + 1)
    committed = await sync_to_async(writer.write)(Batch.of(cluster.pk, spans=[span]))
    await publish(committed)
    blocks = await _batch(socket)
    assert blocks["span"].list("key") == ["inc-1"]
    assert blocks["extent"].meta["sequence"] == 1
    await socket.disconnect()


async def test_a_socket_begins_with_the_version_of_the_lanes_which_new_ones_change(
    cluster: Cluster, member: Client, writer: Writer, now: float
) -> None:
    def stored(at: float, address: str = "tcp://127.0.0.1:1") -> None:
        span = Span(address, 1, "inc-1", "inc", "inc", Action.COMPUTE, now + at, now + at + 1)
        writer.write(Batch.of(cluster.pk, spans=[span]))

    async def version() -> str:
        socket = _socket(cluster, member)
        await socket.connect()
        [greeting] = decode(await socket.receive_from(5))
        await socket.disconnect()
        answer = await sync_to_async(member.get)(f"/api/v1/clusters/{cluster.pk}/lanes")
        assert greeting.meta["lanes_version"] == answer.json()["version"]
        return str(greeting.meta["lanes_version"])

    versions = [await version()]
    await sync_to_async(stored)(0)
    versions.append(await version())
    await sync_to_async(stored)(2)
    assert await version() == versions[-1], "the same lane has another span"
    await sync_to_async(stored)(4, "tcp://127.0.0.1:2")
    versions.append(await version())
    ended = Batch.of(cluster.pk, gone=[WorkerGone("tcp://127.0.0.1:2", now + 6, "removed")])
    await sync_to_async(writer.write)(ended)
    versions.append(await version())
    assert len(set(versions)) == len(versions)


@pytest.fixture
def frequent_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a state every 0.1 s."""
    monkeypatch.setattr(subscription, "STATE_INTERVAL", 0.1)


async def test_a_page_receives_states_equal_to_those_of_the_api(
    cluster: Cluster, member: Client, frequent_states: None
) -> None:
    socket = await _opened(cluster, member)
    states = [await _state(socket) for _ in range(3)]
    times = [state["at"] for state in states]
    assert times == sorted(set(times))
    await socket.disconnect()
    url = f"/api/v1/clusters/{cluster.pk}/state?at={times[-1]:.6f}"
    assert (await sync_to_async(member.get)(url)).json() == states[-1]


async def test_a_page_receives_the_target_status_although_nothing_is_committed(
    cluster: Cluster, member: Client, frequent_states: None
) -> None:
    target = await Target.objects.acreate(
        project_id=cluster.project_id, name="t", url="http://127.0.0.1:8787", last_error="no answer"
    )
    await Cluster.objects.filter(pk=cluster.pk).aupdate(target=target)
    socket = await _opened(cluster, member)
    assert (await _meta(socket, "target"))["last_error"] == "no answer"
    await Target.objects.filter(pk=target.pk).aupdate(last_error="")
    while (await _meta(socket, "target"))["last_error"]:
        pass
    await socket.disconnect()


async def test_a_page_is_told_for_how_long_nothing_was_heard_of_its_cluster(
    cluster: Cluster, member: Client, frequent_states: None
) -> None:
    await Cluster.objects.filter(pk=cluster.pk).aupdate(agent_heard=timezone.now() - timedelta(hours=5))
    info = (await sync_to_async(member.get)(f"/api/v1/clusters/{cluster.pk}")).json()
    assert 5 * 3600 <= info["unheard"] < 6 * 3600
    socket = await _opened(cluster, member)
    told = (await _meta(socket, "target"))["unheard"]
    assert info["unheard"] <= told < 6 * 3600
    await Cluster.objects.filter(pk=cluster.pk).aupdate(agent_heard=timezone.now())
    while (await _meta(socket, "target"))["unheard"]:
        pass
    await socket.disconnect()


async def test_the_state_is_made_once_for_all_pages(
    cluster: Cluster, member: Client, frequent_states: None
) -> None:
    pages = [await _opened(cluster, member) for _ in range(2)]
    first, second = [{(await _state(page))["at"] for _ in range(6)} for page in pages]
    assert len(first & second) >= 3
    for page in pages:
        await page.disconnect()


async def test_no_state_is_made_after_the_last_page_has_closed(
    cluster: Cluster, member: Client, frequent_states: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = [await _opened(cluster, member) for _ in range(2)]
    await first.disconnect()
    await _state(second)
    await second.disconnect()
    made: list[float] = []
    monkeypatch.setattr(subscription, "state_at", lambda *arguments: made.append(arguments[-1]))
    await asyncio.sleep(0.3)
    assert not made


async def test_no_state_is_sent_of_an_ended_cluster(
    cluster: Cluster, member: Client, frequent_states: None
) -> None:
    await Cluster.objects.filter(pk=cluster.pk).aupdate(ended=datetime.now(UTC))
    socket = await _opened(cluster, member)
    assert await socket.receive_nothing(0.5)
    await socket.disconnect()


async def test_the_socket_refuses_anonymous_users(cluster: Cluster) -> None:
    socket = _socket(cluster, Client())
    await socket.connect()
    assert (await _closed_with(socket))[1] == SIGNED_OUT


async def test_the_socket_refuses_non_members_without_sending_a_frame(
    cluster: Cluster, stranger: Client
) -> None:
    socket = _socket(cluster, stranger)
    await socket.connect()
    await get_channel_layer().group_send(group_of(cluster.pk), {"type": "live.frame", "data": b"secret"})
    assert (await _closed_with(socket))[1] == NOT_FOUND
    assert await socket.receive_nothing()


async def test_the_socket_refuses_another_origin(cluster: Cluster, member: Client) -> None:
    headers = [(b"origin", b"http://elsewhere.example"), *_headers(member)[1:]]
    socket = WebsocketCommunicator(application, f"/ws/clusters/{cluster.pk}/live", headers)
    assert not (await socket.connect())[0]


async def test_losing_the_membership_closes_the_socket(
    cluster: Cluster, member: Client, frequent_checks: None
) -> None:
    socket = await _opened(cluster, member)
    await Membership.objects.all().adelete()
    assert (await _closed_with(socket))[1] == NOT_FOUND


async def test_signing_out_closes_the_socket(cluster: Cluster, member: Client, frequent_checks: None) -> None:
    socket = await _opened(cluster, member)
    await sync_to_async(member.logout)()
    assert (await _closed_with(socket))[1] == SIGNED_OUT


async def test_deactivating_the_account_closes_the_socket(
    cluster: Cluster, member: Client, frequent_checks: None
) -> None:
    socket = await _opened(cluster, member)
    await User.objects.all().aupdate(is_active=False)
    assert (await _closed_with(socket))[1] == SIGNED_OUT


async def test_the_socket_is_closed_if_access_cannot_be_checked(
    cluster: Cluster, member: Client, frequent_checks: None, direct: psycopg.Connection
) -> None:
    socket = await _opened(cluster, member)
    direct.execute("ALTER TABLE clusters_membership RENAME TO away")
    try:
        assert (await _closed_with(socket))[1] == UNAVAILABLE
    finally:
        direct.execute("ALTER TABLE away RENAME TO clusters_membership")


async def test_a_page_that_sends_is_refused_with_the_reason(cluster: Cluster, member: Client) -> None:
    socket = await _opened(cluster, member)
    await socket.send_to(text_data="{}")
    assert "only sends" in (await _closed_with(socket))[0]


@pytest.fixture
def served(transactional_db: None) -> Iterator[int]:
    """Run a real server; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(
            uvicorn.Config(application, log_level="warning", ws_per_message_deflate=False)
        )
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join(120)


def _page(port: int, cluster: Cluster, browser: Client) -> ClientConnection:
    cookie = f"sessionid={browser.cookies['sessionid'].value}"
    url = f"ws://127.0.0.1:{port}/ws/clusters/{cluster.pk}/live"
    return connect(
        url,
        origin=f"http://127.0.0.1:{port}",
        additional_headers={"Cookie": cookie},
        max_queue=1,
        max_size=None,
    )  # type: ignore[arg-type]


def _batches(page: ClientConnection) -> int:
    """Return the number of batches in the next frame."""
    data = page.recv(5)
    assert isinstance(data, bytes)
    return sum(block.kind == "extent" for block in decode(data))


def test_a_page_that_reads_too_slowly_is_closed_and_its_queue_dropped(
    served: int, cluster: Cluster, member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "FRAME_INTERVAL", 0)
    frame = encode("extent", 0, [], {"sequence": 1, "filling": "x" * 1_000_000})
    frames = 60
    with _page(served, cluster, member) as slow, _page(served, cluster, member) as quick:
        for page in (slow, quick):
            page.recv(5)
        received = 0
        for number in range(frames):
            async_to_sync(get_channel_layer().group_send)(
                group_of(cluster.pk), {"type": "live.frame", "data": frame}
            )
            while received <= number:
                received += _batches(quick)
        late = 0
        while isinstance(data := slow.recv(5), bytes):
            late += len(data)
        assert "too slowly" in data
        assert late < frames * len(frame) - MAXIMUM_PENDING
        with pytest.raises(ConnectionClosed) as closed:
            slow.recv(5)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == TOO_SLOW
