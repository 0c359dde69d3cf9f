"""The socket of an open page, over the real channel layer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser, User

from observatory.clusters.models import Cluster, Membership
from observatory.replay import consumers
from observatory.replay.consumers import NOT_THERE, SIGNED_OUT
from observatory.replay.routing import websocket_urlpatterns
from observatory.store.publication import publish
from observatory.store.writer import Writer
from observatory.wire.blocks import decode
from observatory.wire.records import Action, Batch, Span

pytestmark = pytest.mark.django_db(transaction=True)


def _socket(cluster: Cluster, user: Any) -> WebsocketCommunicator:
    from channels.routing import URLRouter

    socket = WebsocketCommunicator(URLRouter(websocket_urlpatterns), f"/ws/clusters/{cluster.pk}/live")
    socket.scope["user"] = user
    return socket


async def _closed_with(socket: WebsocketCommunicator) -> tuple[str, int]:
    """Why and with which code the server closed."""
    reason = json.loads(await socket.receive_from(5))["error"]
    return reason, (await socket.receive_output(5))["code"]


@pytest.fixture
def viewer(cluster: Cluster) -> User:
    user = User.objects.create_user("viewer")
    Membership.objects.create(project=cluster.project, user=user)
    return user


async def test_a_committed_batch_reaches_the_page_with_its_number(
    cluster: Cluster, viewer: User, writer: Writer, now: float
) -> None:
    socket = _socket(cluster, viewer)
    assert (await socket.connect())[0]
    [greeting] = decode(await socket.receive_from(5))
    assert (greeting.kind, greeting.meta["sequence"]) == ("extent", 0)
    span = Span("tcp://127.0.0.1:1", 1, "inc-1", "inc", "inc", Action.COMPUTE, now, now + 1)
    committed = await sync_to_async(writer.write)(Batch(cluster.pk, spans=[span]))
    await publish(committed)
    blocks = {block.kind: block for block in decode(await socket.receive_from(5))}
    assert blocks["span"].list("key") == ["inc-1"]
    assert blocks["extent"].meta["sequence"] == 1
    await socket.disconnect()


async def test_who_is_not_signed_in_is_turned_away(cluster: Cluster) -> None:
    socket = _socket(cluster, AnonymousUser())
    await socket.connect()
    assert (await _closed_with(socket))[1] == SIGNED_OUT


async def test_who_is_no_member_finds_nothing_there(cluster: Cluster) -> None:
    socket = _socket(cluster, await User.objects.acreate(username="stranger"))
    await socket.connect()
    assert (await _closed_with(socket))[1] == NOT_THERE


async def test_who_loses_the_membership_loses_the_open_page(
    cluster: Cluster, viewer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "CHECK_ACCESS_EVERY", 0.1)
    socket = _socket(cluster, viewer)
    await socket.connect()
    await socket.receive_from(5)
    await Membership.objects.filter(user=viewer).adelete()
    assert (await _closed_with(socket))[1] == NOT_THERE


async def test_a_page_that_talks_is_told_that_the_socket_only_sends(cluster: Cluster, viewer: User) -> None:
    socket = _socket(cluster, viewer)
    await socket.connect()
    await socket.receive_from(5)
    await socket.send_to(text_data="{}")
    assert "only sends" in (await _closed_with(socket))[0]
