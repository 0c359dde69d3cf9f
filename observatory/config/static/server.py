"""Static files before Django: a page has many of them, and none needs a session or what else Django does."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Response

from observatory.config.body_limit import Application, Receive, Send

ASKED = {
    b"accept-encoding": "HTTP_ACCEPT_ENCODING",
    b"if-none-match": "HTTP_IF_NONE_MATCH",
    b"if-modified-since": "HTTP_IF_MODIFIED_SINCE",
    b"range": "HTTP_RANGE",
}


class StaticFiles:
    """ASGI middleware: answers what is below STATIC_URL and there; all else is the application's."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.prefix = urlsplit(settings.STATIC_URL).path
        self.files = WhiteNoiseMiddleware(settings=settings)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        file = self._find(scope["path"]) if scope["path"].startswith(self.prefix) else None
        if file is None:
            await self.application(scope, receive, send)
            return
        asked = {ASKED[name]: value.decode("latin-1") for name, value in scope["headers"] if name in ASKED}
        status, headers, body = await asyncio.to_thread(_answer, file, scope["method"], asked)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _find(self, path: str) -> Any:
        if self.files.autorefresh:
            return self.files.find_file(path)
        return self.files.files.get(path)


def _answer(file: Any, method: str, asked: dict[str, str]) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    response: Response = file.get_response(method, asked)
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers]
    headers.append((b"x-content-type-options", b"nosniff"))
    if response.file is None:
        return int(response.status), headers, b""
    with response.file:
        return int(response.status), headers, response.file.read()
