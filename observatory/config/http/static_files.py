"""Serves static files before Django, whose middleware they do not need.

On a first start they are not collected yet: until they are, bundles are made in memory, and files are
compressed when they are sent.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import mimetypes
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.conf import settings
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import NOT_ALLOWED_RESPONSE, Response

from observatory.base.static.bundle import BUNDLED, bundle, bundle_of
from observatory.base.static.version import is_collected
from observatory.config.http.body_limit import Application, Receive, Send

REQUEST_HEADERS = {
    b"accept-encoding": "HTTP_ACCEPT_ENCODING",
    b"if-none-match": "HTTP_IF_NONE_MATCH",
    b"if-modified-since": "HTTP_IF_MODIFIED_SINCE",
    b"range": "HTTP_RANGE",
}
TEXT = ("text/", "application/json", "application/javascript", "image/svg+xml")
"""types of files that gzip makes smaller"""
LEVEL = 5
"""of gzip: Plotly takes some 0.2 s and is a third of its size"""


class StaticFiles:
    """ASGI middleware: answers requests for existing files below STATIC_PATH, and passes on the others."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.prefix = settings.STATIC_PATH
        self.files = WhiteNoiseMiddleware(settings=settings)
        self.bundles = {self.prefix + bundle_of(entry): Bundle(entry) for entry in BUNDLED}

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        file = None
        if scope["path"].startswith(self.prefix):
            self._use_collected()
            file = self._find(scope["path"])
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

    def _use_collected(self) -> None:
        """Use the collected files from when they are complete on, and bundles in pages."""
        if (
            settings.WHITENOISE_USE_FINDERS
            and not settings.DEBUG
            and is_collected(settings.STATIC_ROOT, settings.STATIC_VERSION)
        ):
            settings.WHITENOISE_USE_FINDERS = False
            self.files = WhiteNoiseMiddleware(settings=settings)
            self.bundles.clear()

    def _find(self, path: str) -> Any:
        if self.files.autorefresh:
            return self.files.find_file(path)
        return self.files.files.get(path) or self.bundles.get(path)


class Bundle:
    """A bundle made in memory when it is first requested, which answers as WhiteNoise's files do."""

    def __init__(self, entry: str) -> None:
        self.entry = entry

    @cached_property
    def content(self) -> bytes:
        root = Path(settings.FRONTEND_DIR).parent
        return bundle(root / self.entry, root).encode()

    def get_response(self, method: str, _: dict[str, str]) -> Response:
        if method not in ("GET", "HEAD"):
            return NOT_ALLOWED_RESPONSE
        headers = [
            ("Content-Type", f'{mimetypes.guess_type(self.entry)[0]}; charset="utf-8"'),
            ("Content-Length", str(len(self.content))),
            ("Cache-Control", f"max-age={WhiteNoiseMiddleware.FOREVER}, public, immutable"),
        ]
        return Response(HTTPStatus.OK, headers, io.BytesIO(self.content) if method == "GET" else None)


def _answer(file: Any, method: str, request: dict[str, str]) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    response: Response = file.get_response(method, request)
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers]
    headers.append((b"x-content-type-options", b"nosniff"))
    if response.file is None:
        return int(response.status), headers, b""
    with response.file:
        body = response.file.read()
    if settings.WHITENOISE_USE_FINDERS and _is_compressible(response, request):
        body = gzip.compress(body, LEVEL)
        headers = [(name, value) for name, value in headers if name not in (b"content-length", b"etag")]
        headers += [
            (b"content-length", str(len(body)).encode()),
            (b"content-encoding", b"gzip"),
            (b"vary", b"Accept-Encoding"),
        ]
    return int(response.status), headers, body


def _is_compressible(response: Response, request: dict[str, str]) -> bool:
    """Whether it is a whole file of text that is not compressed, and the browser takes gzip."""
    headers = {name.lower(): value for name, value in response.headers}
    return (
        response.status == 200
        and "content-encoding" not in headers
        and headers.get("content-type", "").startswith(TEXT)
        and "gzip" in request.get("HTTP_ACCEPT_ENCODING", "")
    )
