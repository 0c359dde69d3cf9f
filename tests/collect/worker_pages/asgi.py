"""Sends requests to the relay as a server does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from channels.testing import WebsocketCommunicator

from observatory.collect.worker_pages.limits import Limits
from observatory.collect.worker_pages.relay import WorkerPages
from observatory.collect.worker_pages.socket_relay import WorkerSockets

FRAME = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}


@dataclass
class Answered:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Relay:
    limits: Limits = field(default_factory=Limits)

    async def get(self, path: str, method: str = "GET", **headers: str) -> Answered:
        """The answer to a request; `_` in the names of headers is `-`."""
        sent: list[Mapping[str, Any]] = []

        async def send(message: Mapping[str, Any]) -> None:
            sent.append(message)

        async def receive() -> Mapping[str, Any]:
            return {"type": "http.request"}

        application = WorkerPages(_site, self.limits)
        scope = {"type": "http", "method": method, "path": path, "headers": _raw(headers)}
        await application(scope, receive, send)
        names = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in sent[1:])
        assert not sent[-1].get("more_body")
        return Answered(sent[0]["status"], names, body)

    def socket(self, path: str, protocols: list[str] | None = None, **headers: str) -> WebsocketCommunicator:
        application = WorkerSockets(_site, self.limits)
        raw = _raw({"origin": "null", **headers})
        return WebsocketCommunicator(application, path, raw, subprotocols=protocols)


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    named = {"host": "localhost", **headers}
    return [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()]


async def _site(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b"the site"})
