"""Bounds what a request may send: Django keeps a whole body on disk before a view can refuse it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class BodyLimit:
    """ASGI middleware: a body of more than `limit` bytes is answered 413, its length told or not."""

    def __init__(self, application: Application, limit: int) -> None:
        self.application = application
        self.limit = limit

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        length = dict(scope["headers"]).get(b"content-length", b"")
        if length.isdigit() and int(length) > self.limit:
            await self._refuse(send)
            return
        received = 0
        is_refused = False

        async def bounded() -> Message:
            nonlocal received, is_refused
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.limit and not is_refused:
                is_refused = True
                await self._refuse(send)
            return {"type": "http.disconnect"} if is_refused else message

        async def answer(message: Message) -> None:
            if not is_refused:
                await send(message)

        await self.application(scope, bounded, answer)

    async def _refuse(self, send: Send) -> None:
        body = json.dumps({"detail": f"the body has more than {self.limit >> 20} MiB sent"}).encode()
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": body})
