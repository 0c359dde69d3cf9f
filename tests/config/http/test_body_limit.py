"""A body over the limit is refused before it is kept, whether its length is told or not."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from observatory.config.http.body_limit import BodyLimit, Upload

LIMIT = 1 << 20
IMPORT = re.compile("/import/")


class Exchange:
    """One request of some parts, to an application that reads all and answers with the length."""

    def __init__(self, parts: list[bytes], length: int | None = None) -> None:
        self.parts = list(parts)
        self.headers = [] if length is None else [(b"content-length", str(length).encode())]
        self.sent: list[dict[str, Any]] = []
        self.taken = 0

    async def receive(self) -> dict[str, Any]:
        part = self.parts.pop(0)
        self.taken += len(part)
        return {"type": "http.request", "body": part, "more_body": bool(self.parts)}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        read, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            read += len(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(read).encode()})

    def run(self, upload: Upload | None = None, path: str = "/", method: str = "POST") -> tuple[int, bytes]:
        limited = BodyLimit(self.application, LIMIT, upload)
        scope = {"type": "http", "headers": self.headers, "path": path, "method": method}
        asyncio.run(limited(scope, self.receive, self.send))
        start, body = self.sent
        return start["status"], body["body"]


@pytest.mark.parametrize("pause", [0.01, 3_600])
def test_a_body_that_comes_byte_by_byte_is_refused(monkeypatch: pytest.MonkeyPatch, pause: float) -> None:
    monkeypatch.setattr("observatory.config.http.body_limit.GRACE", 0.05)
    exchange = Exchange([b"x"] * 100_000)
    receive = exchange.receive

    async def slowly() -> dict[str, Any]:
        await asyncio.sleep(pause)
        return await receive()

    monkeypatch.setattr(exchange, "receive", slowly)
    status, body = exchange.run()
    assert status == 408
    assert json.loads(body)["detail"].startswith("the body did not arrive within ")
    assert exchange.taken < 1_000


def test_an_answer_may_take_longer_than_its_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """Django waits for the client's end meanwhile."""
    monkeypatch.setattr("observatory.config.http.body_limit.GRACE", 0.0)
    exchange = Exchange([b"x"])
    whole = exchange.application

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(receive(), 0.2)
        exchange.parts = [message["body"]]
        await whole(scope, lambda: asyncio.sleep(0, message), send)

    sent = exchange.receive

    async def receive() -> dict[str, Any]:
        return await sent() if exchange.parts else await asyncio.sleep(3_600, {})

    monkeypatch.setattr(exchange, "receive", receive)
    monkeypatch.setattr(exchange, "application", waits)
    assert exchange.run() == (200, b"1")


@pytest.mark.parametrize("length", [None, LIMIT])
def test_a_body_at_the_limit_passes_whole(length: int | None) -> None:
    exchange = Exchange([bytes(LIMIT // 2), bytes(LIMIT // 2)], length)
    assert exchange.run() == (200, str(LIMIT).encode())


def test_a_body_that_says_that_it_is_too_long_is_refused_unread() -> None:
    exchange = Exchange([bytes(10)], LIMIT + 1)
    status, body = exchange.run()
    assert (status, json.loads(body)) == (413, {"detail": "the body has more than 1 MiB"})
    assert exchange.taken == 0


def test_a_body_of_unknown_length_is_refused_where_the_limit_is() -> None:
    exchange = Exchange([bytes(LIMIT // 2)] * 100)
    status, _ = exchange.run()
    assert status == 413
    assert exchange.taken <= LIMIT + LIMIT // 2


@pytest.mark.parametrize("length", [None, 3 * LIMIT])
@pytest.mark.parametrize(
    ("path", "method", "may", "status"),
    [
        ("/import/", "POST", True, 200),
        ("/import/", "POST", False, 413),
        ("/import/", "GET", True, 413),
        ("/import/x", "POST", True, 413),
        ("/", "POST", True, 413),
    ],
)
def test_more_may_be_sent_to_one_path_alone_and_by_those_who_may(
    length: int | None, path: str, method: str, may: bool, status: int
) -> None:
    async def asked(scope: dict[str, Any]) -> bool:
        return may

    exchange = Exchange([bytes(LIMIT)] * 3, length)
    assert exchange.run(Upload(IMPORT, 3 * LIMIT, asked), path, method)[0] == status


def test_what_is_too_long_for_an_upload_is_refused_too() -> None:
    async def asked(scope: dict[str, Any]) -> bool:
        return True

    status, body = Exchange([bytes(LIMIT)] * 3).run(Upload(IMPORT, 2 * LIMIT, asked), "/import/")
    assert (status, json.loads(body)["detail"]) == (413, "the body has more than 2 MiB")
