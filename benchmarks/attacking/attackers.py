"""One project's tokens at their worst: `python -m benchmarks.attacking.attackers`, with Attack as JSON.

Attacks until its input ends, and prints the number of answers by attack and status as JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp

from benchmarks.attacking.bodies import hostile

SENDERS, READERS, SLOW, SOCKETS = 6, 12, 20, 10
"""requests at a time with the ingest token, of each token that reads, slow bodies, and sockets"""
LONGEST = 120
"""seconds to an answer"""
PATTERNS = ("", "%", "_" * 200, "a" * 499, "\\", "'; --", "(a+)+$", "\u0000", "🙂" * 100, "load-0")
FORMATS = ("bundle", "html", "parquet", "csv", "trace", "speedscope")
LAYERS = ("spans", "prefixes", "events", "profile", "memory", "cluster-memory", "states", "custom")


@dataclass(frozen=True, slots=True)
class Attack:
    """What the attackers have."""

    url: str
    ingest_token: str
    access_token: str
    link: str
    session: str
    cluster: int
    run: int
    others: tuple[int, ...]
    """of the other project, which they may not see"""


class Attackers:
    def __init__(self, attack: Attack, http: aiohttp.ClientSession) -> None:
        self.attack, self.http = attack, http
        self.answers: Counter[str] = Counter()

    async def run(self) -> None:
        bodies, api, link = hostile(), self._api_paths(), self._link_paths()
        pages = self._page_paths()
        tasks = [
            *(self._forever(lambda: self._send(bodies)) for _ in range(SENDERS)),
            *(self._forever(self._paths(api, self._token)) for _ in range(READERS)),
            *(self._forever(self._paths(link, {})) for _ in range(READERS)),
            *(self._forever(self._paths(pages, self._session)) for _ in range(READERS // 2)),
            *(self._forever(self._slow_body) for _ in range(SLOW)),
            *(self._forever(self._socket) for _ in range(SOCKETS)),
            self._forever(self._export),
            self._forever(self._import),
        ]
        await asyncio.gather(*tasks)

    @property
    def _token(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.attack.access_token}"}

    @property
    def _session(self) -> dict[str, str]:
        csrf = "a" * 32
        return {"Cookie": f"sessionid={self.attack.session}; csrftoken={csrf}", "X-CSRFToken": csrf}

    async def _forever(self, once: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await once()
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                self.answers[f"{once.__name__} {type(error).__name__}"] += 1
                await asyncio.sleep(0.1)

    async def _request(self, what: str, method: str, path: str, **options: Any) -> int:
        began = time.monotonic()
        async with self.http.request(method, self.attack.url + path, **options) as answer:
            await answer.read()
            self.answers[f"{what} {answer.status}"] += 1
            if answer.status in (429, 503) and time.monotonic() - began < 0.1:
                await asyncio.sleep(0.05)  # whoever ignores Retry-After
            return answer.status

    async def _send(self, bodies: Iterator[tuple[str, bytes, dict[str, str]]]) -> None:
        name, body, headers = next(bodies)
        headers = {**headers, "Authorization": f"Bearer {self.attack.ingest_token}"}
        await self._request(f"ingest: {name}", "POST", "/api/v1/ingest", data=body, headers=headers)

    def _paths(self, paths: Iterator[str], headers: dict[str, str]) -> Callable[[], Awaitable[None]]:
        async def request() -> None:
            path = next(paths)
            what = path.split("?")[0].replace(self.attack.link, "link")
            await self._request("".join(c for c in what if not c.isdigit()), "GET", path, headers=headers)

        return request

    def _timeline(self, base: str) -> Iterator[str]:
        """The widest and the oddest questions about a timeline, in any order."""
        paths = list(self._questions(base))
        random.shuffle(paths)
        return iter(paths)

    def _questions(self, base: str) -> Iterator[str]:
        now = time.time()
        wide = f"after={now - 86_400 * 20}&before={now + 86_400}"
        for name in (
            *("outliers", "transfers", "prefixes", "fine-performance", "groups", "group-graph"),
            *("task-graph", "environment", "stolen", "events", "thread-times", "critical-path"),
            *("findings", "what-if", "lanes", "log-counts", "alerts"),
        ):
            yield f"{base}/{name}?{wide}"
        for workers in (1, 1_000, 10_000):
            yield f"{base}/what-if/prediction?{wide}&workers={workers}&times_as_fast=3"
        for pattern in PATTERNS:
            text = quote(pattern)
            yield f"{base}/logs?{wide}&match={text}&regex=true&limit=1000"
            yield f"{base}/results?at={now}&text={text}"
            yield f"{base}/lineage?key={text}"
        for level in range(0, 40, 3):
            at = int((now - random.random() * 3600) * 1e6)
            for layer in LAYERS:
                yield f"{base}/tiles/{layer}/{level}/{at >> (level + 9)}"
            places = ",".join(
                f"{layer}/{level}/{(at >> (level + 9)) - step}" for layer in LAYERS[:3] for step in range(4)
            )
            yield f"{base}/tiles?of={places}"
        for _ in range(20):
            yield f"{base}/state?at={now - random.random() * 3600}"
            yield f"{base}/workers?at={now - random.random() * 3600}"

    def _api_paths(self) -> Iterator[str]:
        attack = self.attack
        for number in itertools.count():
            yield from self._timeline(f"/api/v1/clusters/{attack.cluster}")
            yield from self._timeline(f"/api/v1/runs/{attack.run}/timeline")
            for pattern in PATTERNS:
                yield f"/api/v1/search?q={quote(pattern)}"
                yield f"/api/v1/clusters/{attack.cluster}/search?q={quote(pattern)}&limit=200"
                yield f"/api/v1/runs?text={quote(pattern)}&page_size=1000"
                yield f"/api/v1/clusters?text={quote(pattern)}&page_size=1000"
                yield f"/api/v1/alerts?text={quote(pattern)}&page_size=1000"
            yield f"/api/v1/runs/compare?a={attack.run}&b={attack.run}"
            yield f"/api/v1/runs/memory?runs={attack.run}"
            for other in attack.others:
                yield f"/api/v1/clusters/{other}/lanes?n={number}"

    def _link_paths(self) -> Iterator[str]:
        while True:
            yield from self._timeline(f"/api/v1/r/{self.attack.link}")
            for page in ("", "/picture.png", "/logs", "/errors"):
                yield f"/r/{self.attack.link}{page}"

    def _page_paths(self) -> Iterator[str]:
        attack = self.attack
        while True:
            for pattern in PATTERNS:
                yield f"/search/?q={quote(pattern)}"
                yield f"/runs/?text={quote(pattern)}"
                yield f"/clusters/{attack.cluster}/logs/?match={quote(pattern)}"
            yield f"/runs/compare/?a={attack.run}&b={attack.run}"
            yield from ("/usage/?since=2020-01-01", "/errors/", "/alerts/", "/clusters/", "/projects/")
            yield f"/clusters/{attack.cluster}/tasks/"
            yield f"/runs/{attack.run}/"

    async def _slow_body(self) -> None:
        """A body of 10 MB, a byte at a time."""
        address = urlsplit(self.attack.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            head = (
                f"POST /api/v1/ingest HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 10000000\r\n"
                f"Authorization: Bearer {self.attack.ingest_token}\r\n\r\n"
            )
            writer.write(head.encode() + os.urandom(2_500_000))
            while not reader.at_eof():
                writer.write(b"x")
                await writer.drain()
                try:
                    status = (await asyncio.wait_for(reader.readline(), 0.5)).split()[1:2]
                    self.answers[f"slow body {b''.join(status).decode()}"] += 1
                    return
                except TimeoutError:
                    continue
        finally:
            writer.close()

    async def _socket(self) -> None:
        path = f"/ws/clusters/{self.attack.cluster}/live"
        headers = {**self._session, "Origin": self.attack.url}
        async with self.http.ws_connect(self.attack.url + path, headers=headers) as socket:
            self.answers["sockets opened"] += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(socket.receive(), random.random())

    async def _export(self) -> None:
        for format in FORMATS:
            path = f"/api/v1/runs/{self.attack.run}/exports"
            await self._request("export", "POST", path, json={"format": format}, headers=self._token)
            await asyncio.sleep(0.5)

    async def _import(self) -> None:
        for content in (
            os.urandom(5 << 20),
            b"PK\x03\x04" + bytes(1 << 20),
            b"[" * (5 << 20),
            b"{" * (5 << 20),
        ):
            form = aiohttp.FormData()
            form.add_field("project", "attacker")
            form.add_field("file", content, filename="x.json")
            await self._request("import", "POST", "/import/", data=form, headers=self._session)
            await asyncio.sleep(1)


async def attack(wanted: Attack) -> Counter[str]:
    """Attacks until the standard input ends."""
    loop = asyncio.get_running_loop()
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=LONGEST)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http:
        attackers = Attackers(wanted, http)
        running = asyncio.create_task(attackers.run())
        ended = loop.run_in_executor(None, sys.stdin.read)
        await asyncio.wait([running, asyncio.ensure_future(ended)], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        running.cancel()
        await asyncio.wait([running])
    return attackers.answers


def main() -> None:
    given = json.loads(sys.stdin.readline())
    answers = asyncio.run(attack(Attack(**{**given, "others": tuple(given["others"])})))
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
