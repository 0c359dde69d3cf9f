"""Records the stock endpoints of a real scheduler and its one worker while they work."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
from distributed import Client, LocalCluster

TURNS = 11
"""a prime, so that polling at any interval sees all of them"""
TASKS = 20
"""per turn"""
RESTING = 5.0
"""seconds after which a cluster without tasks has forgotten them"""
PAUSE = 1.2
"""seconds after a turn's tasks, in which the worker sends a heartbeat"""


@dataclass(frozen=True, slots=True)
class Recording:
    """One entry per turn, in order."""

    scheduler_pages: list[str]
    worker_pages: list[str]
    identities: list[dict[str, Any]]
    counts: list[dict[str, Any]]
    workers_page: str
    """/info/main/workers.html, of the last turn"""
    transitions: list[dict[str, Any]]
    """the messages of the event stream on tasks"""


def burn(number: int) -> bytes:
    """Take some milliseconds and return a result of 100 kB."""
    sum(range(100_000))
    return bytes(100_000 + number)


def record(idle: bool = False) -> Recording:
    """Run a cluster and record its endpoints; `idle`: after its last tasks, of which no results are kept."""
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0", silence_logs="ERROR"
        ) as cluster,
        Client(cluster) as client,
    ):
        if idle:
            client.gather(client.map(burn, range(TASKS), pure=False))
            time.sleep(RESTING)
        return asyncio.run(
            _record(cluster.dashboard_link.removesuffix("/status"), client, 0 if idle else TASKS)
        )


async def _record(scheduler: str, client: Client, tasks: int) -> Recording:
    [worker] = client.scheduler_info(n_workers=-1)["workers"].values()
    metrics = f"http://127.0.0.1:{worker['services']['dashboard']}/metrics"
    found = Recording([], [], [], [], "", [])
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{scheduler}/eventstream", max_msg_size=0) as stream,
    ):
        listening = asyncio.create_task(_listen(stream, found.transitions))
        await asyncio.to_thread(_work, client, tasks, scheduler, metrics, found)
        workers_page = await asyncio.to_thread(_read, f"{scheduler}/info/main/workers.html")
        listening.cancel()
    return replace(
        found,
        scheduler_pages=_alike(found.scheduler_pages),
        worker_pages=_alike(found.worker_pages),
        workers_page=workers_page,
    )


def _work(client: Client, tasks: int, scheduler: str, metrics: str, found: Recording) -> None:
    """Run so many tasks in each turn, and record what the endpoints answer then."""
    futures = []
    for _ in range(TURNS):
        futures.append(client.map(burn, range(tasks), pure=False))
        client.gather(futures[-1])
        time.sleep(PAUSE)
        found.identities.append(json.loads(_identity(scheduler)))
        found.counts.append(json.loads(_read(f"{scheduler}/json/counts.json")))
        found.scheduler_pages.append(_read(f"{scheduler}/metrics"))
        found.worker_pages.append(_read(metrics))


def _identity(scheduler: str) -> str:
    """Read identity.json, which fails until a heartbeat has no task metrics (dask/distributed#8370)."""
    logging.getLogger("tornado.application").setLevel(logging.CRITICAL)
    for _ in range(20):
        try:
            return _read(f"{scheduler}/json/identity.json")
        except urllib.error.HTTPError:
            time.sleep(0.5)
    raise TimeoutError("the scheduler's identity.json keeps failing")


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


async def _listen(stream: aiohttp.ClientWebSocketResponse, found: list[dict[str, Any]]) -> None:
    async for message in stream:
        data = json.loads(message.data)
        messages = data if isinstance(data, list) else [data]
        found += [entry for entry in messages if entry.get("name") == "transition"]


def _alike(pages: list[str]) -> list[str]:
    """Return the pages with the same series as the last one; the first pages lack some."""

    def heads(page: str) -> list[str]:
        return [line.rpartition(" ")[0] for line in page.splitlines()]

    return [page for page in pages if heads(page) == heads(pages[-1])]
