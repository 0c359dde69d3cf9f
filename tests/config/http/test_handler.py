"""All of a request runs in one thread, which the next one uses again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.signals import request_finished, request_started
from django.http import HttpRequest, HttpResponse
from django.urls import path

from observatory.config.http.handler import IDLE_THREADS, OneThreadHandler

seen: list[tuple[str, int]] = []
"""what ran, and in which thread"""
meeting = threading.Barrier(1)
entered, released = threading.Event(), threading.Event()


def note(what: str) -> None:
    seen.append((what, threading.get_ident()))


def plain(request: HttpRequest) -> HttpResponse:
    note("view")
    return HttpResponse("seen")


def together(request: HttpRequest) -> HttpResponse:
    """Answers once all others are here, which needs a thread for each."""
    meeting.wait(60)
    return plain(request)


def held(request: HttpRequest) -> HttpResponse:
    entered.set()
    assert released.wait(60)
    return plain(request)


async def asynchronous(request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    return HttpResponse("later")


def fails(request: HttpRequest) -> HttpResponse:
    raise ValueError("on purpose")


urlpatterns = [
    path("plain", plain),
    path("together", together),
    path("held", held),
    path("asynchronous", asynchronous),
    path("fails", fails),
]


def noting_middleware(get_response: Any) -> Any:
    def middleware(request: HttpRequest) -> HttpResponse:
        note("middleware")
        response: HttpResponse = get_response(request)
        return response

    return middleware


@pytest.fixture
def handler(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[OneThreadHandler]:
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = [f"{__name__}.noting_middleware"]
    settings.FORCE_SCRIPT_NAME = None
    monkeypatch.setattr("observatory.config.http.request_shares.PLACES", 100)
    seen.clear()
    entered.clear()
    released.clear()
    yield OneThreadHandler()
    released.set()


def request_of(handler: OneThreadHandler, name: str) -> ApplicationCommunicator:
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/{name}",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    return ApplicationCommunicator(handler, scope)


async def answered(handler: OneThreadHandler, name: str) -> tuple[int, bytes]:
    request = request_of(handler, name)
    await request.send_input({"type": "http.request", "body": b""})
    start = await request.receive_output(60)
    body = await request.receive_output(60)
    await request.wait(60)
    return start["status"], body["body"]


async def idle(handler: OneThreadHandler, threads: int) -> None:
    while len(handler._idle) != threads:
        await asyncio.sleep(0.01)


def test_middleware_view_and_signals_of_a_request_run_in_one_thread(handler: OneThreadHandler) -> None:
    def started(**of_request: Any) -> None:
        note("started")

    def finished(**of_request: Any) -> None:
        note("finished")

    request_started.connect(started)
    request_finished.connect(finished)
    try:
        assert asyncio.run(answered(handler, "plain")) == (200, b"seen")
    finally:
        request_started.disconnect(started)
        request_finished.disconnect(finished)
    assert [what for what, _ in seen] == ["started", "middleware", "view", "finished"]
    [thread] = {thread for _, thread in seen}
    assert thread != threading.get_ident()


def test_the_next_request_uses_the_thread_again(handler: OneThreadHandler) -> None:
    async def two() -> None:
        await answered(handler, "plain")
        await idle(handler, 1)
        await answered(handler, "plain")

    asyncio.run(two())
    assert len({thread for _, thread in seen}) == 1


def test_requests_at_once_have_a_thread_each_and_a_few_are_kept(handler: OneThreadHandler) -> None:
    global meeting
    count = 3 * IDLE_THREADS
    meeting = threading.Barrier(count)
    before = threading.active_count()

    async def burst() -> list[tuple[int, bytes]]:
        found = await asyncio.gather(*(answered(handler, "together") for _ in range(count)))
        await idle(handler, IDLE_THREADS)
        while threading.active_count() > before + IDLE_THREADS:
            await asyncio.sleep(0.01)
        return found

    assert asyncio.run(burst()) == [(200, b"seen")] * count
    assert len({thread for what, thread in seen if what == "view"}) == count


def test_the_thread_of_a_request_whose_client_has_gone_is_used_once_its_view_has_ended(
    handler: OneThreadHandler,
) -> None:
    async def left() -> None:
        gone = request_of(handler, "held")
        await gone.send_input({"type": "http.request", "body": b""})
        await asyncio.to_thread(entered.wait, 60)
        await gone.send_input({"type": "http.disconnect"})
        assert await answered(handler, "plain") == (200, b"seen")
        await idle(handler, 1)
        released.set()
        await gone.wait(60)
        await idle(handler, 2)

    asyncio.run(left())
    assert len({thread for what, thread in seen if what == "view"}) == 2


def test_an_asynchronous_view_works_too(handler: OneThreadHandler) -> None:
    assert asyncio.run(answered(handler, "asynchronous")) == (200, b"later")


def test_an_error_of_a_view_is_answered_and_its_thread_used_again(handler: OneThreadHandler) -> None:
    async def two() -> int:
        status, _ = await answered(handler, "fails")
        await idle(handler, 1)
        await answered(handler, "plain")
        return status

    assert asyncio.run(two()) == 500
    assert len({thread for _, thread in seen}) == 1
