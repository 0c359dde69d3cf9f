"""Limits size and time of request bodies: Django stores a whole body on disk before a view can refuse it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

GRACE, SLOWEST = 60.0, 16 << 10
"""seconds for any body, and bytes a second of a larger one"""
TOO_SLOW = f"the body did not arrive within {GRACE:.0f} s and a second for each {SLOWEST >> 10} KiB"

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Upload:
    """Paths with a higher limit for permitted requests."""

    paths: re.Pattern[str]
    limit: int
    """bytes"""
    may: Callable[[dict[str, Any]], Awaitable[bool]]
    """whether a request, given by its scope, is permitted"""


class BodyLimit:
    """ASGI middleware: answers 413 to a body of more than `limit` bytes, with or without Content-Length.

    It answers 408 to one that takes longer than GRACE seconds and a second for each SLOWEST bytes.
    """

    def __init__(self, application: Application, limit: int, upload: Upload | None = None) -> None:
        self.application = application
        self.limit = limit
        self.upload = upload

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        limit = await self._limit(scope)
        length = dict(scope["headers"]).get(b"content-length", b"")
        if length.isdigit() and int(length) > limit:
            await _refuse(send, 413, _too_large(limit))
            return
        loop = asyncio.get_running_loop()
        began, received = loop.time(), 0
        is_refused = is_complete = False

        async def refuse(status: int, detail: str) -> Message:
            nonlocal is_refused
            if not is_refused:
                is_refused = True
                await _refuse(send, status, detail)
            return {"type": "http.disconnect"}

        async def bounded() -> Message:
            nonlocal received, is_complete
            until = None if is_complete or is_refused else began + GRACE + received / SLOWEST
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                return await refuse(408, TOO_SLOW)
            received += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if received > limit or is_refused:
                return await refuse(413, _too_large(limit))
            return message

        async def answer(message: Message) -> None:
            if not is_refused:
                await send(message)

        await self.application(scope, bounded, answer)

    async def _limit(self, scope: dict[str, Any]) -> int:
        upload = self.upload
        if upload is None or scope.get("method") != "POST" or not upload.paths.fullmatch(scope["path"]):
            return self.limit
        return upload.limit if await upload.may(scope) else self.limit


def _too_large(limit: int) -> str:
    return f"the body has more than {limit >> 20} MiB"


async def _refuse(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
