"""Assistants at /mcp (Model Context Protocol): their tools read this site's own REST API, with their token.

Each read is a request to the application below: permissions, turns and limits are those of the API. The SDK
is imported when the first assistant with a valid token comes.
"""

from __future__ import annotations

import asyncio
import json
import urllib.parse
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings

from observatory.assistants.rest_api import ApiError
from observatory.clusters.accounts.proxy_sign_in import SCOPE
from observatory.config.http.body_limit import Application, BodyLimit, Message, Receive, Send
from observatory.config.http.own_host import is_own_host

PATH = "/mcp"
LARGEST_REQUEST = 1 << 20
"""bytes"""
LONGEST_DETAIL = 500
WHO = "/projects"
"""what is read to check a token: it needs one that is valid, and is small"""


class Assistants:
    """ASGI middleware: answers at PATH, and passes other requests on to the application that it reads."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._limited = BodyLimit(self._answer, LARGEST_REQUEST)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["path"] in (PATH, f"{PATH}/"):
            await self._limited(scope, receive, send)
        else:
            await self.application(scope, receive, send)

    async def _answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        if not (is_own_host(headers.get("host", "")) and _is_own_origin(headers.get("origin"))):
            await _refuse(send, 403, "This site does not answer requests from there.")
        elif scope["method"] != "POST":
            await _refuse(send, 405, "Assistants send POST requests; there are no streams.", allow="POST")
        elif not headers.get("authorization", "").lower().startswith("bearer "):
            await _refuse(send, 401, "Send an access token: Authorization: Bearer obp_…")
        else:
            status, body = await SiteApi(self.application, scope).request(WHO, {})
            if status == 200:
                await self._serve(scope, receive, send)
            else:
                await _refuse(send, status, _detail(body))

    async def _serve(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request, without anything that stays of it."""
        manager_of = await asyncio.to_thread(_sdk)
        manager = manager_of(lambda context: SiteApi(self.application, scope))
        async with manager.run():
            await manager.handle_request(scope, receive, send)


class SiteApi:
    """The REST API of this site, for who sent a request."""

    def __init__(self, application: Application, scope: Mapping[str, Any]) -> None:
        self._application = application
        self._scope = scope
        self.url = _site_url(scope)

    async def get(self, path: str, parameters: Mapping[str, Any]) -> bytes:
        status, body = await self.request(path, parameters)
        if status != 200:
            raise ApiError(f"{status}: {_detail(body)}")
        return body

    async def request(self, path: str, parameters: Mapping[str, Any]) -> tuple[int, bytes]:
        """Status and body of an answer."""
        given = {name: value for name, value in parameters.items() if value is not None}
        status, is_read = 500, False
        parts: list[bytes] = []

        async def receive() -> Message:
            nonlocal is_read
            if is_read:
                await asyncio.Future()  # nobody disconnects
            is_read = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))

        whole = f"/api/v1{path}"
        scope = {
            **self._scope,
            "method": "GET",
            "path": whole,
            "raw_path": urllib.parse.quote(whole).encode(),
            "query_string": urllib.parse.urlencode(given).encode(),
            "headers": [each for each in self._scope["headers"] if each[0] in (b"authorization", b"host")],
            SCOPE: None,  # the token alone says who asks
        }
        await self._application(scope, receive, send)
        return status, b"".join(parts)


@cache
def _sdk() -> Any:
    """A function that makes the SDK's manager of requests, from one that returns an API."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from observatory.assistants.server import make_server

    def manager_of(api_of: Any) -> StreamableHTTPSessionManager:
        return StreamableHTTPSessionManager(
            make_server(api_of), json_response=True, stateless=True, max_request_body_size=LARGEST_REQUEST
        )

    return manager_of


def _headers(scope: Mapping[str, Any]) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _is_own_origin(origin: str | None) -> bool:
    """Programs send no origin; pages of other sites send theirs."""
    if origin is None or origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    return is_own_host(urllib.parse.urlsplit(origin).netloc)


def _site_url(scope: Mapping[str, Any]) -> str:
    if settings.PUBLIC_URL:
        return str(settings.PUBLIC_URL).rstrip("/")
    return f"{scope.get('scheme', 'http')}://{_headers(scope).get('host', '')}"


def _detail(body: bytes) -> str:
    try:
        return str(json.loads(body)["detail"])[:LONGEST_DETAIL]
    except (ValueError, KeyError, TypeError):
        return "no answer"


async def _refuse(send: Send, status: int, detail: str, allow: str = "") -> None:
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if allow:
        headers.append((b"allow", allow.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"detail": detail}).encode()})
