"""Workers whose end was planned, and workers that disappear, without the agent."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable

import pytest

from tests.collect.dask_processes import LOG_LEVEL, Scheduler, scheduler
from tests.collect.observer import eventually, observed, read

pytestmark = pytest.mark.usefixtures("store")


async def ends() -> dict[str, str]:
    return dict(await read("SELECT name, end_reason FROM worker WHERE ended IS NOT NULL"))


async def departures() -> set[tuple[str, str]]:
    query = """SELECT name, kind FROM event JOIN worker ON worker.id = worker_id
               WHERE kind IN ('worker-removed', 'worker-lost', 'worker-disappeared')"""
    return set(await read(query))


async def messages(kind: str) -> list[str]:
    return [text for (text,) in await read("SELECT detail->>'message' FROM event WHERE kind = %s", kind)]


def all_ended(*names: str) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return (await ends()).keys() >= set(names)

    return look


async def test_planned_ends_are_no_losses_and_no_worker_disappears() -> None:
    def plan(dask: Scheduler) -> None:
        with dask.client() as client:
            # busy ones, too: the scheduler takes their tasks for suspicious when it restarts them
            busy = client.map(lambda _: time.sleep(60), range(12), pure=False)
            addresses = {w["name"]: a for a, w in client.scheduler_info(n_workers=-1)["workers"].items()}
            client.restart_workers([addresses["restarted"]], timeout=120)
            client.cancel(busy)
            client.retire_workers([addresses["retired"]])

    with scheduler() as dask:
        for name in ("restarted", "retired"):
            dask.start_worker(name, 1, *(["--no-nanny"] if name != "restarted" else []))
        async with observed(dask.url):
            await eventually(lambda: read("SELECT 1 FROM worker WHERE nthreads = 1 HAVING count(*) = 2"))
            await asyncio.to_thread(plan, dask)
            dask.start_worker("lifetime", 1, "--lifetime", "10s", "--lifetime-restart")
            await eventually(all_ended("restarted", "retired", "lifetime"))
            planned = {
                "restarted": "removed",
                "retired": "retired",
                "lifetime": "retired",
            }
            assert await ends() == planned
            assert await departures() == {(name, "worker-removed") for name in planned}
            assert "lifetime left: it closed in order, as at the end of its lifetime" in await messages(
                "worker-removed"
            )


async def test_a_worker_killed_while_idle_disappears_and_one_whose_nanny_replaces_it_is_lost() -> None:
    def kill_nannied(dask: Scheduler) -> None:
        with dask.client() as client:
            [address] = [a for a, w in client.scheduler_info()["workers"].items() if w["name"] == "nannied"]
            os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)

    with scheduler(workers=1) as dask:
        dask.start_worker("nannied", 1)
        async with observed(dask.url):
            await eventually(lambda: read("SELECT 1 FROM worker WHERE nthreads > 0 HAVING count(*) = 2"))
            dask.workers[0].send_signal(signal.SIGKILL)
            await asyncio.to_thread(kill_nannied, dask)
            await eventually(all_ended("w0", "nannied"))
            assert await ends() == {"w0": "disappeared", "nannied": "lost"}
            assert await messages("worker-disappeared") == [
                "w0 disappeared, reason unknown without the agent"
            ]


async def test_without_the_schedulers_log_a_departure_has_no_known_reason() -> None:
    with scheduler(workers=1, **{LOG_LEVEL: "WARNING"}) as dask:
        async with observed(dask.url):
            await eventually(lambda: read("SELECT 1 FROM worker WHERE nthreads > 0"))
            dask.workers[0].send_signal(signal.SIGKILL)
            await eventually(ends)
            assert await ends() == {"w0": "unknown"}
            assert await messages("worker-removed") == ["w0 left, reason unknown without the agent"]


async def test_workers_that_end_with_their_cluster_did_not_disappear() -> None:
    with scheduler(workers=2) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: read("SELECT 1 FROM worker WHERE nthreads > 0 HAVING count(*) = 2"))
            for worker in dask.workers:
                worker.send_signal(signal.SIGTERM)
            departed = watcher.observation.membership.departures
            await eventually(lambda: asyncio.sleep(0, len(departed) == 2))
            dask.kill()
            await eventually(all_ended("w0", "w1"))
            assert await ends() == {"w0": "cluster-ended", "w1": "cluster-ended"}
            assert await departures() == set()
