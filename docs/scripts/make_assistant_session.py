"""Writes the session of docs/assistants.md: `make_assistant_session.py URL TOKEN`, of a server with the run
that tests/browser/questions/recording.py makes. The SDK's client asks what an assistant would."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

PAGE = Path(__file__).parent.parent / "assistants.md"
PLACE = re.compile(r"(<!-- session -->\n).*?(<!-- end -->)", re.DOTALL)
RUN = "nightly etl"
LONGEST = 140

Step = tuple[str, dict[str, Any], tuple[str, ...]]
"""a tool, its arguments without the run, and the parts of its answer that the page shows"""

SESSION: dict[str, list[Step]] = {
    f"Why was the last {RUN} slow, and did something fail?": [
        ("run_card", {}, ("outcome", "duration_seconds", "first_error", "against_earlier_runs.verdict")),
        ("why", {}, ("findings.*.sentence", "stragglers.0", "thread_seconds")),
    ],
    "Has that error come up before?": [
        ("errors", {}, ("kinds.*.headline", "first_errors.0.key", "first_errors.0.message")),
    ],
    "Which worker died, and why?": [
        ("alerts_and_events", {"match": "killed"}, ("events.*.message", "alerts.0.advice")),
    ],
    "What was in memory after four seconds?": [
        ("memory", {"at": 4}, ("results.0", "results.1", "bytes_by_prefix")),
    ],
}


async def lines(client: Client) -> list[str]:
    found = (await client.call_tool("find_runs", {"name": RUN, "limit": 1})).structured_content or {}
    [run] = found["recorded"]["runs"]
    written = []
    for question, steps in SESSION.items():
        written += [f"**{question}**", "", "```text"]
        for tool, arguments, parts in steps:
            given = {"run": run["run"], **arguments}
            answer = (await client.call_tool(tool, given)).structured_content or {}
            written.append(f"{tool}({', '.join(f'{name}={value!r}' for name, value in given.items())})")
            written += [f"  {each}" for part in parts for each in _shown(answer["recorded"], part)]
        written += ["```", ""]
    return written


def _shown(recorded: Any, part: str) -> Iterator[str]:
    name, _, rest = part.partition(".")
    if isinstance(recorded, list):
        for each in recorded if name == "*" else recorded[int(name) : int(name) + 1]:
            yield from _shown(each, rest) if rest else [_short(name, each)]
    elif rest:
        yield from _shown(recorded[name], rest)
    else:
        yield _short(name, recorded[name])


def _short(name: str, value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    return shown if name.isdecimal() else f"{name}: {shown}"


async def main(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        text = "\n".join(await lines(client))
    PAGE.write_text(PLACE.sub(lambda found: f"{found[1]}{text}{found[2]}", PAGE.read_text()))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
