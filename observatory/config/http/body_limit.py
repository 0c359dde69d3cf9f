"""Limits the size of request bodies: Django stores a whole body on disk before a view can refuse it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Upload:
    """A path with a higher limit for permitted requests."""

    path: str
    limit: int
    """bytes"""
    may: Callable[[dict[str, Any]], Awaitable[bool]]
    """whether a request, given by its scope, is permitted"""


class BodyLimit:
    """ASGI middleware: answers 413 to a body of more than `limit` bytes, with or without Content-Length."""

    def __init__(self, application: Application, limit: int, upload: Upload | None = None) -> None:
        self.application = application
        self.limit = limit
        self.upload = upload

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        limit = await self._limit(scope)
        length = dict(scope["headers"]).get(b"content-length", b"")
        if length.isdigit() and int(length) > limit:
            await _refuse(send, limit)
            return
        received = 0
        is_refused = False

        async def bounded() -> Message:
            nonlocal received, is_refused
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit and not is_refused:
                is_refused = True
                await _refuse(send, limit)
            return {"type": "http.disconnect"} if is_refused else message

        async def answer(message: Message) -> None:
            if not is_refused:
                await send(message)

        await self.application(scope, bounded, answer)

    async def _limit(self, scope: dict[str, Any]) -> int:
        upload = self.upload
        if upload is None or scope.get("method") != "POST" or scope["path"] != upload.path:
            return self.limit
        return upload.limit if await upload.may(scope) else self.limit


async def _refuse(send: Send, limit: int) -> None:
    body = json.dumps({"detail": f"the body has more than {limit >> 20} MiB"}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
