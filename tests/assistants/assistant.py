"""An assistant without a model: the SDK's own client over both transports, and the site that it talks to."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent, Tool

from observatory.collect.agents.body import COMPRESSED
from observatory.config.http.assistants import Assistants
from observatory.config.http.body_limit import BodyLimit
from observatory.config.http.handler import OneThreadHandler
from tests.browser.observatory import ROOT

Call = tuple[str, Mapping[str, Any]]
Mode = Literal["auto", "legacy"]
PATIENCE = 300.0
"""seconds that an answer may take on a loaded machine"""


@dataclass
class Assistant:
    url: str
    token: str
    transport: Literal["http", "stdio"] = "http"
    mode: Mode = "auto"
    """`legacy` is the protocol before 2026"""
    calls: list[Call] = field(default_factory=list)

    def ask(self, *calls: Call) -> list[CallToolResult]:
        """The answers of tools, in one connection."""
        self.calls += calls
        return asyncio.run(self._ask(calls))

    def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool tells of what was recorded."""
        [result] = self.ask((tool, arguments))
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        recorded: dict[str, Any] = result.structured_content["recorded"]
        return recorded

    def tools(self) -> list[Tool]:
        return asyncio.run(self._tools())

    async def _ask(self, calls: tuple[Call, ...]) -> list[CallToolResult]:
        async with self._client() as client:
            return [await client.call_tool(name, dict(arguments)) for name, arguments in calls]

    async def _tools(self) -> list[Tool]:
        async with self._client() as client:
            assert client.instructions is not None
            assert "data" in client.instructions
            return (await client.list_tools()).tools

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        if self.transport == "stdio":
            program = StdioServerParameters(
                command=sys.executable,
                args=["-m", "observatory", "mcp"],
                env={"OBSERVATORY_URL": self.url, "OBSERVATORY_ACCESS_TOKEN": self.token},
                cwd=ROOT,
            )
            async with Client(program, mode=self.mode, read_timeout_seconds=PATIENCE) as client:
                yield client
            return
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
            transport = streamable_http_client(f"{self.url}/mcp", http_client=http)
            async with Client(transport, mode=self.mode, read_timeout_seconds=PATIENCE) as client:
                yield client


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@contextmanager
def site() -> Iterator[str]:
    """The part of the web process that answers assistants, on the database of the tests; yields its URL."""
    application = Assistants(BodyLimit(OneThreadHandler(), COMPRESSED))
    server = uvicorn.Server(uvicorn.Config(application, port=0, lifespan="off", log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not server.started:
            assert time.monotonic() < deadline
            assert thread.is_alive()
            time.sleep(0.02)
        [socket] = server.servers[0].sockets
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
