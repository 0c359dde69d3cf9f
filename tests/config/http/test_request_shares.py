"""Requests take turns, so that one project's don't make those of another wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Hashable, Iterator
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import HttpRequest, HttpResponse
from django.urls import path

from observatory.config.http import request_shares
from observatory.config.http.handler import OneThreadHandler
from observatory.config.http.request_shares import is_free, who_asks
from observatory.store.places.askers import ASKER, asks_about
from observatory.store.places.shares import LONGEST_REST, REST, Busy, Places, RequestShares, Shares, Use

LONG_WAIT = 120.0
ATTACKERS = ("Bearer access-token", "Bearer another-token")
entered: list[str] = []
ended = threading.Event()


def view(request: HttpRequest, project: int) -> HttpResponse:
    """One of a project, which lasts until the test ends it."""
    asks_about(project)
    entered.append(request.headers["Authorization"])
    if request.GET.get("waits"):
        ended.wait(LONG_WAIT)
    return HttpResponse("done")


urlpatterns = [
    path("projects/<int:project>", view),
    path("healthz", lambda request: HttpResponse("alive")),
    path("", view, {"project": 0}, name="home"),  # error pages lead there
]


@pytest.fixture
def handler(settings: Any) -> Iterator[OneThreadHandler]:
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    entered.clear()
    ended.clear()
    yield OneThreadHandler()
    ended.set()


def ask(
    handler: OneThreadHandler, authorization: str, project: int, query: bytes = b"", path: str = ""
) -> ApplicationCommunicator:
    scope = {
        "type": "http",
        "method": "GET",
        "path": path or f"/projects/{project}",
        "query_string": query,
        "headers": [(b"host", b"localhost"), (b"authorization", authorization.encode())],
    }
    return ApplicationCommunicator(handler, scope)


def run(requests: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs the test; no view waits when it has failed."""

    async def ending() -> None:
        try:
            await requests()
        finally:
            ended.set()

    asyncio.run(ending())


async def begin(request: ApplicationCommunicator) -> ApplicationCommunicator:
    await request.send_input({"type": "http.request", "body": b""})
    return request


async def status(request: ApplicationCommunicator) -> int:
    start = await request.receive_output(LONG_WAIT)
    await request.receive_output(LONG_WAIT)
    await request.wait(LONG_WAIT)
    return int(start["status"])


async def until(number: int) -> None:
    while len(entered) < number:
        await asyncio.sleep(0.01)


def test_tokens_of_one_project_share_its_half_and_another_is_answered_meanwhile(
    handler: OneThreadHandler,
) -> None:
    async def requests() -> None:
        for authorization, project in (*((each, 1) for each in ATTACKERS), ("Bearer other", 2)):
            assert await status(await begin(ask(handler, authorization, project))) == 200
        entered.clear()
        attacks = [
            await begin(ask(handler, authorization, 1, b"waits=1"))
            for _ in range(10)
            for authorization in ATTACKERS
        ]
        await until(request_shares.PLACES // 2)
        for _ in range(5):
            assert await status(await begin(ask(handler, "Bearer other", 2))) == 200
        assert await status(await begin(ask(handler, "none", 0, path="/healthz"))) == 200
        assert entered.count("Bearer other") == 5
        assert len(entered) == 5 + request_shares.PLACES // 2
        ended.set()
        assert {await status(attack) for attack in attacks} == {200}

    run(requests)


def test_a_client_that_goes_away_keeps_its_place_until_its_thread_ends(handler: OneThreadHandler) -> None:
    """Else closing connections would start any number of threads."""

    async def requests() -> None:
        await status(await begin(ask(handler, "Bearer other", 2)))
        entered.clear()
        for _ in range(20):
            request = await begin(ask(handler, ATTACKERS[0], 1, b"waits=1"))
            await asyncio.sleep(0.02)
            await request.send_input({"type": "http.disconnect"})
        assert len(entered) <= request_shares.PLACES // 2
        assert await status(await begin(ask(handler, "Bearer other", 2))) == 200
        ended.set()
        places = handler.turns.shares.places
        while places._free < request_shares.PLACES:
            await asyncio.sleep(0.01)
        assert not places._queues
        assert not places._taken

    run(requests)


def test_whose_requests_are_too_many_is_answered_429(
    handler: OneThreadHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler.turns.shares.places, "waiting", 3)

    async def requests() -> None:
        most = request_shares.PLACES - 1 + 3
        waiting = [await begin(ask(handler, ATTACKERS[0], 1, b"waits=1")) for _ in range(most)]
        await until(request_shares.PLACES - 1)
        request = await begin(ask(handler, ATTACKERS[0], 1))
        start = await request.receive_output(LONG_WAIT)
        assert start["status"] == 429
        assert (b"Retry-After", b"2") in start["headers"]
        assert await status(await begin(ask(handler, "Bearer other", 2))) == 200
        ended.set()
        assert {await status(each) for each in waiting} == {200}

    run(requests)


def test_who_had_more_than_one_place_for_a_while_has_one_at_a_time_beside_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("observatory.store.places.shares.time.monotonic", lambda: now)
    places = Places(4, 100)
    granted: list[int] = []

    def ask(key: int) -> None:
        places.ask(key, lambda: granted.append(key))

    for key in (1, 1, 1, 2):
        ask(key)
    assert granted == [1, 1, 2]
    now = 40.0
    places.leave(2)
    ask(2)
    places.leave(1)
    assert granted == [1, 1, 2, 2], "the first still has its other place"
    places.leave(1)
    assert granted == [1, 1, 2, 2, 1]
    ask(1)
    assert granted == [1, 1, 2, 2, 1]
    now = 100.0  # nobody else asked for long
    places.leave(1)
    ask(1)
    assert granted[5:] == [1, 1]


class Clock:
    """A clock that stands still, and who was given a place."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.granted: list[str] = []
        monkeypatch.setattr("observatory.store.places.shares.time.monotonic", lambda: self.now)

    def ask(self, places: Places, key: str) -> None:
        places.ask(key, lambda: self.granted.append(key))


def test_who_had_much_rests_while_one_is_served_that_had_less(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    places = Places(4, 100, load=Use())
    clock.ask(places, "much")
    clock.now = 40.0
    places.leave("much")
    clock.ask(places, "little")
    for served in (LONGEST_REST / REST, 0.5):
        clock.ask(places, "much")
        clock.now += REST * served - 0.1
        places.give()
        assert clock.granted[-1] == "little"
        clock.now += 0.2
        places.give()
        assert clock.granted.pop() == "much", "it has rested"
        clock.now += 0.5
        places.leave("much")
    clock.ask(places, "much")
    assert clock.granted == ["much", "little"]
    places.leave("little")
    assert clock.granted == ["much", "little", "much"], "nobody else is served"


def test_batches_rest_for_requests_of_one_that_had_less(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, load = Clock(monkeypatch), Use()
    requests, batches = Places(4, 100, load=load), Shares(4, 10, LONG_WAIT, load)
    batches.take("much")
    clock.now = 40.0
    batches.leave("much")
    assert batches.is_free("much")
    clock.ask(requests, "little")
    assert not batches.is_free("much")
    assert batches.is_free("little")
    requests.leave("little")
    assert batches.is_free("much")


class Heavy(Use):
    def yields(self, key: Hashable) -> bool:
        return True


def test_who_rested_is_served_though_nobody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("observatory.store.places.shares.REST", 1e9)
    monkeypatch.setattr("observatory.store.places.shares.LONGEST_REST", 0.2)

    async def requests() -> None:
        shares = RequestShares(4, 100, LONG_WAIT, LONG_WAIT, Heavy())
        for _ in range(3):
            await shares.take("much")
            shares.leave("much")

    asyncio.run(requests())
    batches = Shares(4, 10, LONG_WAIT, Heavy())
    for _ in range(3):
        with batches.place("much"):
            pass

    async def small_batches() -> None:
        for _ in range(3):
            await batches.take_later("much")
            batches.leave("much")

    asyncio.run(small_batches())


def test_one_alone_has_all_places_but_one_and_half_as_soon_as_there_is_another() -> None:
    async def take(shares: RequestShares, key: int) -> bool:
        try:
            await shares.take(key)
        except Busy:
            return False
        return True

    async def requests() -> None:
        shares = RequestShares(6, 100, 0.05, LONG_WAIT)
        assert [await take(shares, 1) for _ in range(6)] == [True] * 5 + [False]
        assert await take(shares, 2)
        shares.leave(1)
        assert not await take(shares, 1)
        shares.leave(2)
        assert await take(shares, 2)

    asyncio.run(requests())


def test_links_tokens_and_sessions_are_told_apart_and_addresses_where_there_is_none() -> None:
    def who(path: str, client: str = "10.0.0.1", **headers: str) -> str:
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        return who_asks(path, {"headers": sent, "client": (client, 1)})

    assert who("/r/abc") == who("/api/v1/r/abc/lanes", "10.0.0.2", authorization="x")
    assert who("/r/abc") != who("/r/abd")
    assert who("/", authorization="Bearer a") == who("/x", "10.0.0.2", authorization="Bearer a")
    assert who("/", cookie="sessionid=a; x=1") == who("/", "10.0.0.2", cookie="x=2; sessionid=a")
    assert who("/", cookie="sessionid=a") != who("/", cookie="sessionid=b")
    assert who("/", cookie="\x00;;=") == who("/y") == "10.0.0.1"
    assert ASKER.get() is None


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/api/v1/ingest"])
def test_what_watches_the_process_and_agents_need_no_place(path: str) -> None:
    assert is_free(path)
    assert not is_free(f"{path}x")
