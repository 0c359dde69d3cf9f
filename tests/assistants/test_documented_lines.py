"""The lines of docs/assistants.md do what the page says, with a real server in place of the example."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from observatory.assistants.answers import LARGEST
from observatory.assistants.server import TOOLS
from observatory.clusters.tokens import access_tokens
from tests.assistants.assistant import PATIENCE
from tests.browser.observatory import ROOT
from tests.support.projects import World

PAGE = (ROOT / "docs" / "assistants.md").read_text()
EXAMPLE_URL, EXAMPLE_TOKEN, ASKED_FOR = "https://observatory.example.org", "obp_…", "${input:token}"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def remote_servers() -> Iterator[Any]:
    """Each configuration of the page that has an address."""
    [line] = [each for each in blocks("sh") if each.startswith("claude ")]
    words = shlex.split(line)
    assert words[:6] == ["claude", "mcp", "add", "--transport", "http", "observatory"]
    header, _, value = words[words.index("--header") + 1].partition(": ")
    yield {"url": words[6], "headers": {header: value}}
    for block in blocks("json"):
        found = json.loads(block)
        yield from (each for each in (found.get("mcpServers") or found["servers"]).values() if "url" in each)


@pytest.fixture
def token(world: World) -> str:
    return access_tokens.make(world.people["viewer"], "assistant", None)[1]


def real(text: str, url: str, token: str) -> str:
    return text.replace(EXAMPLE_URL, url).replace(EXAMPLE_TOKEN, token).replace(ASKED_FOR, token)


async def count_tools(client: Client) -> int:
    return len((await client.list_tools()).tools)


def test_the_configurations_with_an_address_lead_to_the_tools(url: str, token: str) -> None:
    async def count(server: dict[str, Any]) -> int:
        headers = {name: real(value, url, token) for name, value in server["headers"].items()}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http,
            Client(streamable_http_client(real(server["url"], url, token), http_client=http)) as client,
        ):
            return await count_tools(client)

    servers = list(remote_servers())
    assert len(servers) == 3
    for server in servers:
        assert asyncio.run(count(server)) == len(TOOLS)


def test_the_configuration_with_a_program_leads_to_the_tools(url: str, token: str) -> None:
    programs = [json.loads(block).get("mcpServers", {}).get("observatory", {}) for block in blocks("json")]
    [program] = [each for each in programs if "command" in each]
    assert program["command"] == "dask-observatory"
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "observatory", *program["args"]],
        env={name: real(value, url, token) for name, value in program["env"].items()},
        cwd=ROOT,
    )

    async def count() -> int:
        async with Client(started, read_timeout_seconds=PATIENCE) as client:
            return await count_tools(client)

    assert asyncio.run(count()) == len(TOOLS)


def test_the_page_lists_every_tool_and_the_bound_of_answers() -> None:
    table = PAGE[PAGE.index("## The tools") : PAGE.index("## A session")]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(TOOLS)
    assert f"{LARGEST:,} characters" in table
    assert "fifteen tools" in PAGE
    assert len(TOOLS) == 15


def test_the_recorded_session_calls_tools_that_there_are() -> None:
    session = PAGE[PAGE.index("<!-- session -->") : PAGE.index("<!-- end -->")]
    called = re.findall(r"^(\w+)\(run=\d+", session, re.MULTILINE)
    assert len(called) >= 5
    assert set(called) <= set(TOOLS)


def test_the_extra_that_the_page_names_exists() -> None:
    assert "pip install 'dask-observatory[mcp]'" in PAGE
    assert "\nmcp = [" in (Path(ROOT) / "pyproject.toml").read_text()
