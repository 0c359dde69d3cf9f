"""Sockets of worker pages: who opens one, what passes, and what ends it."""

from __future__ import annotations

import pytest
from channels.db import database_sync_to_async

from observatory.clusters.accounts.models import Membership
from observatory.collect.worker_pages import limits, socket_relay, worker_client
from tests.collect.worker_pages.asgi import Relay
from tests.collect.worker_pages.conftest import Site, end_worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("close_connections")]

WAIT = 30


@pytest.fixture
def relay(site: Site) -> Relay:
    site.worker.answers["/status/ws"] = site.worker.echo
    return Relay()


@pytest.fixture
def frequent_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_relay, "CHECK_ACCESS_EVERY", 0.1)


def path_of(site: Site, end: str = "status/ws") -> str:
    return f"/worker-pages/{site.ticket()}/{end}"


async def test_messages_pass_in_both_directions_with_the_session_of_bokeh(site: Site, relay: Relay) -> None:
    socket = relay.socket(path_of(site), ["bokeh", "token.of_the-session"], cookie="sessionid=x")
    assert await socket.connect(WAIT) == (True, "bokeh")
    await socket.send_to(text_data="hello")
    assert await socket.receive_from(WAIT) == "hello"
    await socket.send_to(bytes_data=b"\x00\xff")
    assert await socket.receive_from(WAIT) == b"\x00\xff"
    [request] = site.worker.requests
    assert request.headers["Sec-WebSocket-Protocol"] == "bokeh,token.of_the-session"
    assert not {"Cookie", "Origin", "Authorization"} & set(request.headers)
    assert request.headers["Host"] == f"127.0.0.1:{site.worker.port}"
    await socket.disconnect()
    assert site.worker.sockets_closed.wait(WAIT)
    assert relay.limits._sockets.total() == 0


async def test_a_worker_that_closes_closes_the_pages_socket(site: Site, relay: Relay) -> None:
    socket = relay.socket(path_of(site))
    assert (await socket.connect(WAIT))[0]
    await socket.send_to(text_data="end")
    assert (await socket.receive_output(WAIT))["type"] == "websocket.close"


async def test_a_message_that_is_too_long_ends_the_socket(
    site: Site, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_client, "MESSAGE_LIMIT", 100_000)
    socket = relay.socket(path_of(site))
    assert (await socket.connect(WAIT))[0]
    await socket.send_to(text_data="flood:99999")
    assert len(await socket.receive_from(WAIT)) == 99_999
    await socket.send_to(text_data="flood:100001")
    assert (await socket.receive_output(WAIT))["type"] == "websocket.close"


@pytest.mark.parametrize("origin", ["http://localhost", "https://evil.example", "http://127.0.0.1:4000"])
async def test_only_the_sandbox_opens_one(site: Site, relay: Relay, origin: str) -> None:
    assert (await relay.socket(path_of(site), origin=origin).connect(WAIT))[0] is False
    assert site.worker.requests == []


@pytest.mark.parametrize("end", ["ws", "metrics/ws", "status", "../status/ws", "status/ws/"])
async def test_only_sockets_of_dasks_pages_are_opened(site: Site, relay: Relay, end: str) -> None:
    assert (await relay.socket(path_of(site, end)).connect(WAIT))[0] is False
    assert site.worker.requests == []


async def test_who_may_not_see_the_worker_opens_none(site: Site, relay: Relay) -> None:
    for role in ("outsider", "nobody"):
        path = f"/worker-pages/{site.ticket(role)}/status/ws"
        assert (await relay.socket(path).connect(WAIT))[0] is False
    assert (await relay.socket("/worker-pages/forged/status/ws").connect(WAIT))[0] is False
    assert (await relay.socket(path_of(site), host="evil.example").connect(WAIT))[0] is False
    assert site.worker.requests == []


@pytest.mark.usefixtures("frequent_checks")
async def test_the_end_of_a_membership_closes_it(site: Site, relay: Relay) -> None:
    socket = relay.socket(path_of(site))
    assert (await socket.connect(WAIT))[0]
    await database_sync_to_async(Membership.objects.filter(user=site.world.people["viewer"]).delete)()
    assert (await socket.receive_output(WAIT))["code"] == socket_relay.REFUSED
    assert site.worker.sockets_closed.wait(WAIT)


@pytest.mark.usefixtures("frequent_checks")
async def test_the_end_of_the_worker_and_signing_out_close_it(site: Site, relay: Relay) -> None:
    socket = relay.socket(path_of(site))
    owner = site.ticket("owner")
    other = relay.socket(f"/worker-pages/{owner}/status/ws")
    assert (await socket.connect(WAIT))[0]
    assert (await other.connect(WAIT))[0]
    await database_sync_to_async(site.world.client("owner").logout)()
    assert (await other.receive_output(WAIT))["code"] == socket_relay.REFUSED
    await socket.send_to(text_data="still there")
    assert await socket.receive_from(WAIT) == "still there"
    await database_sync_to_async(end_worker)(site.world.live.pk)
    assert (await socket.receive_output(WAIT))["code"] == socket_relay.REFUSED


async def test_a_person_has_a_bounded_number(
    site: Site, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SOCKETS_OF_USER", 2)
    monkeypatch.setattr(limits, "SOCKETS", 3)
    open_ones = [relay.socket(path_of(site)) for _ in range(2)]
    for socket in open_ones:
        assert (await socket.connect(WAIT))[0]
    assert (await relay.socket(path_of(site)).connect(WAIT))[0] is False
    owner = site.ticket("owner")
    another = relay.socket(f"/worker-pages/{owner}/status/ws")
    assert (await another.connect(WAIT))[0]
    assert (await relay.socket(f"/worker-pages/{owner}/status/ws").connect(WAIT))[0] is False
    await another.disconnect()
    for socket in open_ones:
        await socket.disconnect()


async def test_a_worker_without_the_socket_refuses_it(site: Site, relay: Relay) -> None:
    assert (await relay.socket(path_of(site, "system/ws")).connect(WAIT))[0] is False
