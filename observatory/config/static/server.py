"""Serves static files before Django, whose middleware they do not need."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Response

from observatory.config.body_limit import Application, Receive, Send

REQUEST_HEADERS = {
    b"accept-encoding": "HTTP_ACCEPT_ENCODING",
    b"if-none-match": "HTTP_IF_NONE_MATCH",
    b"if-modified-since": "HTTP_IF_MODIFIED_SINCE",
    b"range": "HTTP_RANGE",
}


class StaticFiles:
    """ASGI middleware: answers requests for existing files below STATIC_URL, and passes on the others."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.prefix = urlsplit(settings.STATIC_URL).path
        self.files = WhiteNoiseMiddleware(settings=settings)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        file = self._find(scope["path"]) if scope["path"].startswith(self.prefix) else None
        if file is None:
            await self.application(scope, receive, send)
            return
        headers = {
            REQUEST_HEADERS[name]: value.decode("latin-1")
            for name, value in scope["headers"]
            if name in REQUEST_HEADERS
        }
        status, response_headers, body = await asyncio.to_thread(_answer, file, scope["method"], headers)
        await send({"type": "http.response.start", "status": status, "headers": response_headers})
        await send({"type": "http.response.body", "body": body})

    def _find(self, path: str) -> Any:
        if self.files.autorefresh:
            return self.files.find_file(path)
        return self.files.files.get(path)


def _answer(file: Any, method: str, request: dict[str, str]) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    response: Response = file.get_response(method, request)
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers]
    headers.append((b"x-content-type-options", b"nosniff"))
    if response.file is None:
        return int(response.status), headers, b""
    with response.file:
        return int(response.status), headers, response.file.read()
