"""Workers that are lost, removed, or restarted by their nanny."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest
from distributed import Status, Worker

from observatory.collect.workers.membership import Membership, Record
from observatory.store.connection import read_connection
from observatory.store.queries.windows.outliers import paused_seconds
from observatory.wire.records import WorkerGone, WorkerSeen
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import eventually, observed, read

pytestmark = pytest.mark.usefixtures("store")


async def gone() -> list[tuple[str, str]]:
    return await read("SELECT name, end_reason FROM worker WHERE ended IS NOT NULL")


async def worker_events() -> list[tuple[str, str]]:
    return await read("SELECT kind, name FROM event JOIN worker ON worker.id = worker_id ORDER BY time")


async def test_a_worker_killed_at_work_is_lost_and_one_that_retires_is_removed() -> None:
    def work(dask: Scheduler) -> None:
        with dask.client() as client:
            tasks = client.map(lambda x: time.sleep(30), range(4), pure=False)
            time.sleep(3)
            dask.workers[0].send_signal(signal.SIGKILL)
            time.sleep(3)
            client.cancel(tasks)
            time.sleep(1)
            client.retire_workers(
                [a for a, w in client.scheduler_info()["workers"].items() if w["name"] == "w1"]
            )

    with scheduler(workers=2) as dask:
        async with observed(dask.url):
            await eventually(lambda: read("SELECT 1 FROM worker HAVING count(*) = 2"))
            await asyncio.to_thread(work, dask)
            await eventually(lambda: read("SELECT 1 FROM worker WHERE ended IS NOT NULL HAVING count(*) = 2"))
            assert sorted(await gone()) == [("w0", "lost"), ("w1", "retired")]
            kinds = [kind for kind in await worker_events() if kind[0] in ("worker-lost", "worker-removed")]
            assert kinds == [("worker-lost", "w0"), ("worker-removed", "w1")]


async def test_a_worker_that_its_nanny_starts_again_was_lost_and_has_two_lifetimes() -> None:
    with scheduler() as dask:
        async with observed(dask.url):
            dask.start_worker("nannied", 1)
            await eventually(lambda: read("SELECT 1 FROM worker WHERE nthreads = 1"))

            def die() -> None:
                with dask.client() as client:
                    pids = client.run(os.getpid)
                    for pid in pids.values():
                        os.kill(pid, signal.SIGKILL)

            await asyncio.to_thread(die)
            await eventually(lambda: read("SELECT 1 FROM worker WHERE nthreads = 1 HAVING count(*) = 2"))
            await eventually(gone)
            assert await gone() == [("nannied", "lost")]


async def test_client_restart_is_recorded_and_its_workers_are_not_lost() -> None:
    def restart(dask: Scheduler) -> None:
        with dask.client() as client:
            client.wait_for_workers(1)
            client.restart(timeout=60)

    with scheduler() as dask:
        async with observed(dask.url):
            dask.start_worker("nannied", 1)
            await eventually(lambda: read("SELECT 1 FROM worker WHERE nthreads = 1"))
            await asyncio.to_thread(restart, dask)
            await eventually(lambda: read("SELECT 1 FROM event WHERE kind = 'restarted'"))
            await eventually(lambda: read("SELECT 1 FROM worker WHERE ended IS NULL AND nthreads = 1"))
            await eventually(gone)
            assert await gone() == [("nannied", "removed")]


async def test_a_pause_is_counted_from_the_status_that_the_scheduler_lists() -> None:
    def pause(dask: Scheduler, status: str) -> None:
        def change(dask_worker: Worker) -> None:
            dask_worker.memory_manager.memory_pause_fraction = False  # it would resume a worker with memory
            dask_worker.status = Status[status]

        with dask.client() as client:
            client.run(change)

    with scheduler(workers=1) as dask:
        async with observed(dask.url):
            await eventually(lambda: read("SELECT 1 FROM worker WHERE status = 'running'"))
            await asyncio.to_thread(pause, dask, "paused")
            await eventually(lambda: read("SELECT 1 FROM event WHERE kind = 'worker-status'"))
            await asyncio.to_thread(pause, dask, "running")
            await eventually(lambda: read("SELECT 1 FROM event WHERE kind = 'worker-status' OFFSET 1"))
            rows = await read(
                """SELECT cluster_id, detail->>'message', detail->>'before', detail->>'status',
                       (1e6 * extract(epoch FROM time))::bigint
                   FROM event WHERE kind = 'worker-status' ORDER BY time"""
            )
            (cluster, *paused, start), (_, *running, stop) = rows
            assert paused == ["w0 is paused, was running", "running", "paused"]
            assert running == ["w0 is running, was paused", "paused", "running"]
            pauses = await asyncio.to_thread(_pauses, cluster, start, stop)
            assert pauses == [pytest.approx((stop - start) / 1e6)]


def _pauses(cluster: int, start: int, stop: int) -> list[float]:
    with read_connection() as connection:
        return list(paused_seconds(connection, cluster, start, stop).values())


def test_a_worker_at_the_address_of_one_that_left_starts_no_earlier_than_that_one_ended() -> None:
    records: list[Record] = []
    membership = Membership(records.append)
    address = "tcp://10.0.0.1:4000"
    membership.joined(address, 10.0)
    membership.left(address, 20.5)
    membership.joined(address, 20.0)
    lifetimes = [record for record in records if isinstance(record, WorkerSeen | WorkerGone)]
    assert [(type(record), record.time) for record in lifetimes] == [
        (WorkerSeen, 10.0),
        (WorkerGone, 20.5),
        (WorkerSeen, 20.5),
    ]
