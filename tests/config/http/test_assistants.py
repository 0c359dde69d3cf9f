"""The mount of assistants: who gets in, and what reaches the API below."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from observatory.clusters.accounts.proxy_sign_in import SCOPE
from observatory.config.http.assistants import LARGEST_REQUEST, Assistants
from observatory.config.http.body_limit import Message, Receive, Send
from tests.runtime.machine import manage

TOKEN = (b"authorization", b"Bearer obp_one")
HOST = (b"host", b"localhost:8000")
JSON = ((b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream"))
LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
CALL = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "find_runs", "arguments": {}}}
).encode()
WAIT = 120


class Below:
    """The application that is read; it keeps the scopes of requests."""

    def __init__(self, status: int = 200, detail: str = "") -> None:
        self.status, self.detail = status, detail
        self.scopes: list[dict[str, Any]] = []

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        message = await receive()
        assert message == {"type": "http.request", "body": b"", "more_body": False}
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        pages = {"items": [], "count": 0, "page": 1, "pages": 1}
        body = pages if self.status == 200 else {"detail": self.detail}
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def post(
    below: Below,
    body: bytes = LIST,
    headers: Sequence[tuple[bytes, bytes]] = (HOST, TOKEN),
    method: str = "POST",
    path: str = "/mcp",
) -> tuple[int, dict[bytes, bytes], Any]:
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [*headers, *JSON],
        "client": ("10.0.0.7", 1),
        "scheme": "http",
        SCOPE: "a person that a proxy named",
    }
    asked = ApplicationCommunicator(Assistants(below), scope)
    await asked.send_input({"type": "http.request", "body": body, "more_body": False})
    start: Message = await asked.receive_output(WAIT)
    parts, more = b"", True
    while more:
        message = await asked.receive_output(WAIT)
        parts, more = parts + message["body"], message.get("more_body", False)
    await asked.wait(WAIT)
    return start["status"], dict(start["headers"]), json.loads(parts or b"null")


async def test_the_api_below_is_read_with_the_token_alone() -> None:
    below = Below()
    cookie = (b"cookie", b"observatory_session=x")
    status, headers, answer = await post(below, CALL, (HOST, TOKEN, cookie, (b"x-forwarded-user", b"root")))
    assert status == 200
    assert not answer["result"]["isError"]
    assert b"mcp-session-id" not in headers
    assert [scope["path"] for scope in below.scopes] == ["/api/v1/projects", "/api/v1/runs"]
    for scope in below.scopes:
        assert scope["method"] == "GET"
        assert sorted(scope["headers"]) == sorted([HOST, TOKEN])
        assert scope[SCOPE] is None
        assert scope["client"] == ("10.0.0.7", 1)


async def test_without_a_token_nothing_is_read_whatever_cookies_there_are() -> None:
    below = Below()
    for headers in ((HOST,), (HOST, (b"cookie", b"sessionid=x")), (HOST, (b"authorization", b"Basic eDp5"))):
        status, answered, answer = await post(below, LIST, headers)
        assert status == 401
        assert answered[b"www-authenticate"] == b"Bearer"
        assert "access token" in answer["detail"]
    assert below.scopes == []


@pytest.mark.parametrize("status", [401, 429, 503])
async def test_a_refusal_of_the_api_is_that_of_the_assistant(status: int) -> None:
    below = Below(status, "not now")
    assert (await post(below))[::2] == (status, {"detail": "not now"})
    assert len(below.scopes) == 1


@pytest.mark.parametrize(
    "headers",
    [
        (HOST, (b"origin", b"https://evil.example")),
        (HOST, (b"origin", b"null")),
        (HOST, (b"origin", b"")),
        ((b"host", b"evil.example"),),
        ((b"host", b"localhost.evil.example:8000"),),
        (),
    ],
)
async def test_pages_of_other_sites_and_names_that_lead_here_are_refused(
    headers: Sequence[tuple[bytes, bytes]],
) -> None:
    below = Below()
    status, answered, _ = await post(below, LIST, (*headers, TOKEN))
    assert status == 403
    assert not [name for name in answered if name.startswith(b"access-control")]
    assert below.scopes == []


async def test_a_page_of_this_site_and_its_public_url_may_ask(settings: Any) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://observatory.example.org"]
    for origin in (b"http://localhost:8000", b"https://observatory.example.org"):
        assert (await post(Below(), LIST, (HOST, TOKEN, (b"origin", origin))))[0] == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "PUT", "HEAD"])
async def test_there_are_no_streams_and_sessions(method: str) -> None:
    below = Below()
    status, headers, _ = await post(below, b"", method=method)
    assert (status, headers[b"allow"]) == (405, b"POST")
    assert below.scopes == []


async def test_a_large_request_is_refused() -> None:
    status, _, answer = await post(Below(), b" " * (LARGEST_REQUEST + 1))
    assert (status, answer) == (413, {"detail": "the body has more than 1 MiB"})


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff", b'{"jsonrpc":"2.0"}', b"[" * 100_000, b'"\\ud800"']
)
async def test_what_is_no_request_of_the_protocol_is_refused(body: bytes) -> None:
    status, _, _ = await post(Below(), body)
    assert 400 <= status < 500


async def test_other_paths_are_those_of_the_application_below() -> None:
    for path in ("/mcpx", "/mcp/x", "/", "/api/v1/runs"):
        below = Below()
        scope = {"type": "http", "method": "GET", "path": path, "headers": [HOST]}
        asked = ApplicationCommunicator(Assistants(below), scope)
        await asked.send_input({"type": "http.request", "body": b"", "more_body": False})
        await asked.receive_output(WAIT)
        await asked.receive_output(WAIT)
        assert below.scopes == [scope]


def test_the_sdk_takes_no_memory_where_no_assistant_comes() -> None:
    code = """
import sys
import observatory.config.asgi
print({"mcp", "mcp_types", "starlette", "observatory.assistants.server"} & set(sys.modules))
"""
    assert manage("shell", "--verbosity", "0", "--command", code).stdout.strip().endswith("set()")
