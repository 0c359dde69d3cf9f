"""Searches of archived records wait for their place outside: live pages of the same project keep theirs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import HttpRequest, HttpResponse
from django.urls import path

from observatory.config.http.handler import OneThreadHandler
from observatory.pages.site.errors import server_error
from observatory.store.places import scan_places
from observatory.store.places.askers import ASKER, AskerGone, asks_about, require_asker
from observatory.store.places.scan_places import PLACES, scan_place
from observatory.store.places.shares import Shares

LONG_WAIT = 120.0
MANY = 20
entered: list[int] = []
"""the projects whose searches have begun to scan"""
ended, stopped = threading.Event(), threading.Event()
lock = threading.Lock()
scanning = most = 0


def search(request: HttpRequest, project: int) -> HttpResponse:
    """A page with three scans, one within another. The first lasts until the test ends it."""
    global scanning, most
    asks_about(project)
    with scan_place():
        with lock:
            scanning += 1
            most = max(most, scanning)
        entered.append(project)
        ended.wait(LONG_WAIT)
        with scan_place():
            pass
        with lock:
            scanning -= 1
    with scan_place():
        return HttpResponse("found")


def endless(request: HttpRequest) -> HttpResponse:
    """A page whose scan ends with its client alone."""
    with scan_place():
        entered.append(0)
        try:
            while not ended.wait(0.01):
                require_asker()
        except AskerGone:
            stopped.set()
            raise
    return HttpResponse("found")


def live(request: HttpRequest, project: int) -> HttpResponse:
    asks_about(project)
    return HttpResponse("live")


urlpatterns = [
    path("api/v1/search/<int:project>", search),
    path("api/v1/endless", endless),
    path("live/<int:project>", live),
    path("", live, {"project": 1}, name="home"),  # error pages lead there
]
handler500 = server_error


@pytest.fixture
def handler(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[OneThreadHandler]:
    global scanning, most
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    monkeypatch.setattr(scan_places, "shares", Shares(PLACES, MANY, LONG_WAIT))
    entered.clear()
    ended.clear()
    scanning = most = 0
    yield OneThreadHandler()
    ended.set()


async def begin(handler: OneThreadHandler, path: str, method: str = "GET") -> ApplicationCommunicator:
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"authorization", b"Bearer access-token")],
    }
    request = ApplicationCommunicator(handler, scope)
    await request.send_input({"type": "http.request", "body": b""})
    return request


async def answer(request: ApplicationCommunicator) -> tuple[int, dict[bytes, bytes], bytes]:
    start = await request.receive_output(LONG_WAIT)
    body = await request.receive_output(LONG_WAIT)
    await request.wait(LONG_WAIT)
    return start["status"], dict(start["headers"]), body["body"]


def run(requests: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def ending() -> None:
        try:
            await requests()
        finally:
            ended.set()

    asyncio.run(ending())


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG_WAIT):
        while not is_so():
            await asyncio.sleep(0.01)


def waiting() -> int:
    return sum(map(len, scan_places.shares.places._queues.values()))


def test_many_searches_of_a_project_are_all_answered_and_its_live_pages_meanwhile(
    handler: OneThreadHandler,
) -> None:
    async def requests() -> None:
        searches = [await begin(handler, "/api/v1/search/1") for _ in range(MANY)]
        await until(lambda: len(entered) + waiting() == MANY)
        assert len(entered) == PLACES - 1
        for _ in range(5):
            assert (await answer(await begin(handler, "/live/1")))[0] == 200
        ended.set()
        assert {(await answer(each))[::2] for each in searches} == {(200, b"found")}

    run(requests)
    assert most == PLACES - 1
    assert scan_places.shares.places._free == PLACES


def test_another_project_searches_while_the_first_has_all_that_it_may_have(handler: OneThreadHandler) -> None:
    async def requests() -> None:
        searches = [await begin(handler, "/api/v1/search/1") for _ in range(5)]
        await until(lambda: len(entered) + waiting() == 5)
        searches.append(await begin(handler, "/api/v1/search/2"))
        await until(lambda: 2 in entered)
        assert entered.count(1) == PLACES - 1
        ended.set()
        assert {(await answer(each))[0] for each in searches} == {200}

    run(requests)


def test_a_search_that_has_waited_for_long_says_so(
    handler: OneThreadHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_places.shares, "timeout", 0.2)

    async def requests() -> None:
        first = [await begin(handler, "/api/v1/search/1") for _ in range(PLACES - 1)]
        await until(lambda: len(entered) == PLACES - 1)
        status, headers, body = await answer(await begin(handler, "/api/v1/search/1"))
        assert (status, headers[b"Retry-After"]) == (503, b"5")
        detail = json.loads(body)["detail"]
        assert "Many searches of archived records are going on" in detail
        assert "Others that wait" not in detail, "none does"
        ended.set()
        assert {(await answer(each))[0] for each in first} == {200}

    run(requests)
    assert waiting() == 0
    assert scan_places.shares.places._free == PLACES


def test_a_search_that_has_waited_for_long_tells_how_many_others_wait(
    handler: OneThreadHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def requests() -> None:
        searches = [await begin(handler, "/api/v1/search/1") for _ in range(PLACES + 1)]
        await until(lambda: len(entered) + waiting() == PLACES + 1)
        monkeypatch.setattr(scan_places.shares, "timeout", 0.2)
        body = (await answer(await begin(handler, "/api/v1/search/1")))[2]
        assert json.loads(body)["detail"].endswith("Others that wait: 2.")
        ended.set()
        assert {(await answer(each))[0] for each in searches} == {200}

    run(requests)


def test_a_request_that_changes_something_waits_within_itself(handler: OneThreadHandler) -> None:
    async def requests() -> None:
        searches = [await begin(handler, "/api/v1/search/1", "POST") for _ in range(3)]
        await until(lambda: waiting() == 1)
        assert len(entered) == PLACES - 1
        ended.set()
        assert {(await answer(each))[0] for each in searches} == {200}

    run(requests)
    assert len(entered) == 3


def test_searches_whose_clients_go_away_leave_their_places(handler: OneThreadHandler) -> None:
    async def requests() -> None:
        for _ in range(MANY):
            request = await begin(handler, "/api/v1/search/1")
            await asyncio.sleep(0.01)
            await request.send_input({"type": "http.disconnect"})
        ended.set()
        await until(lambda: scan_places.shares.places._free == PLACES and not waiting())

    run(requests)


def test_a_search_stops_when_its_client_has_gone(handler: OneThreadHandler) -> None:
    async def requests() -> None:
        request = await begin(handler, "/api/v1/endless")
        await until(lambda: bool(entered))
        await request.send_input({"type": "http.disconnect"})
        await until(stopped.is_set)
        await until(lambda: scan_places.shares.places._free == PLACES)

    run(requests)


def test_where_no_request_is_answered_scans_need_no_place(handler: OneThreadHandler) -> None:
    assert ASKER.get() is None
    for _ in range(2 * PLACES):
        place = scan_place()
        place.__enter__()
    assert scan_places.shares.places._free == PLACES


def test_too_many_requests_get_a_page_that_looks_again(
    handler: OneThreadHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler.turns.shares.places, "waiting", 0)

    async def requests() -> None:
        status, headers, body = await answer(await begin(handler, "/live/1"))
        assert (status, headers[b"Retry-After"], headers[b"Refresh"]) == (429, b"2", b"2")
        assert b"This page tries again by itself" in body
        status, headers, body = await answer(await begin(handler, "/live/1", "POST"))
        assert (status, b"Refresh" in headers) == (429, False)
        assert b"Nothing was changed" in body
        status, headers, body = await answer(await begin(handler, "/api/v1/search/1"))
        assert status == 429
        assert b"Refresh" not in headers
        assert "try again in some seconds" in json.loads(body)["detail"]

    run(requests)
