"""/metrics of schedulers and workers: broken endpoints, limits, erred tasks, a busy scheduler."""

from __future__ import annotations

import asyncio
import resource
import socket
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from observatory.clusters.models import Cluster, Target
from observatory.collect.collector.clusters.open_pages import OpenPages
from observatory.collect.collector.clusters.registry import MetricHelps
from observatory.collect.collector.clusters.series_limit import LIMITS, SeriesKind, SeriesLimit
from observatory.collect.collector.collector import OPEN_FILES, raise_open_files_limit
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.leases.claims import Claims
from observatory.collect.collector.leases.lease import Leases
from observatory.collect.collector.load.admission import Admission
from observatory.collect.collector.load.pace import Pace
from observatory.collect.collector.load.process_load import ProcessLoad
from observatory.collect.collector.shared import Shared
from observatory.collect.collector.status_rows import StatusRows
from observatory.collect.collector.watcher import Watcher
from observatory.collect.collector.writing.slowdown import CALM
from observatory.collect.collector.writing.writer_threads import WriterThreads
from observatory.collect.http.fetch import HttpClient
from observatory.collect.scheduler.erred_tasks import ErredTaskCount
from observatory.collect.scheduler.identity_poller import FIRST_WAIT
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.store.connection import read_connection
from observatory.wire.records import Series
from observatory.wire.tasks.prefixes import MAXIMUM_PREFIXES
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import event_kinds, eventually, observed, read

pytestmark = pytest.mark.usefixtures("store")


async def test_one_broken_worker_endpoint_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpClient.get, "__defaults__", (60.0,))  # the timeout
    with scheduler(workers=2) as dask, socket.create_server(("127.0.0.1", 0)) as black_hole:
        async with observed(dask.url, metrics_interval=0.5) as watcher:
            await eventually(lambda: read("SELECT 1 FROM worker HAVING count(*) = 2"))
            members = watcher.observation.membership.members
            broken, healthy = sorted(members, key=lambda address: members[address].worker.name)
            # the scheduler lies: this worker's endpoint accepts connections and never answers
            port = black_hole.getsockname()[1]
            polled = watcher.observation.membership.update

            def lie(identity, *rest):
                worker = identity.workers[broken]
                object.__setattr__(worker, "port", port)
                polled(identity, *rest)

            watcher.observation.membership.update = lie
            await eventually(lambda: asyncio.sleep(0, members[broken].worker.port == port))
            black_hole.settimeout(120)
            pending, _ = await asyncio.to_thread(black_hole.accept)
            failures, before = watcher.shared.counters.scrape_failures, await scrapes(healthy)
            await eventually(lambda: has_scrapes(healthy, before + 6))
            assert watcher.shared.counters.scrape_failures == failures
            pending.close()
            black_hole.close()  # aiohttp sends the request once more at once
            await eventually(lambda: asyncio.sleep(0, watcher.shared.counters.scrape_failures > failures))


async def test_intervals_are_longer_while_records_wait_for_the_database() -> None:
    async with HttpClient() as client:
        target = Target(url="http://127.0.0.1:1", identity_interval=1, metrics_interval=5)
        slots = asyncio.Semaphore(1)
        writers = WriterThreads()
        shared = Shared(
            client,
            Claims(None),  # type: ignore[arg-type]
            OpenPages(None),  # type: ignore[arg-type]
            leases := Leases(""),
            Counters(),
            slots,
            load := ProcessLoad(),
            writers,
            pace := Pace(leases),
            StatusRows("", pace),
            Admission(load),
            MetricHelps(),
        )
        watcher = Watcher(target, shared)
        try:
            assert watcher.scraper._wait(0, 0, 5, watcher.slowdown.factor) < 6
            watcher.outbox.open(1)
            watcher.outbox.add_sample(Series("a"), 1, 1)
            watcher.outbox.batches[0].since -= 4 * CALM
            assert watcher.scraper._wait(0, 0, 5, watcher.slowdown.factor) > 18
        finally:
            await writers.release(watcher.flusher.thread, watcher.flusher.clusters)


def test_a_collector_may_keep_a_connection_to_each_of_a_thousand_workers() -> None:
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, most))
    try:
        raise_open_files_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(OPEN_FILES, most), most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


async def scrapes(address: str) -> int:
    query = """SELECT count(*) FROM sample
               JOIN series ON series.id = series_id JOIN worker ON worker.id = worker_id
               WHERE metric = 'dask_worker_threads' AND address = %s"""
    return (await read(query, address))[0][0]


async def has_scrapes(address: str, count: int) -> bool:
    return await scrapes(address) >= count


async def test_series_beyond_the_limit_are_refused_visibly_and_the_known_ones_go_on() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url, series_limit=5) as watcher:
            await eventually(lambda: refused_events())
            await eventually(lambda: run_in_django_thread(Target.objects.filter(series_refused__gt=0).exists))
            assert (await read(OF_OTHER_PROGRAMS))[0][0] == 5
            newest = (await read("SELECT max(time) FROM sample"))[0][0]
            await eventually(lambda: read("SELECT 1 FROM sample WHERE time > %s LIMIT 1", newest))
            assert watcher.observation.series_limit.refused
            assert (await event_kinds()).count("series-refused") == 1
            # no other program's metrics take the room of a worker that joins
            dask.start_worker("late", 1, "--no-nanny")
            for metric in ("observatory_worker_cpu_percent", "dask_worker_threads"):
                await eventually(lambda metric=metric: read(OF_WORKER, metric, "late"))


OF_WORKER = """SELECT 1 FROM sample JOIN series ON series.id = series_id JOIN worker ON worker.id = worker_id
    WHERE metric = %s AND worker.name = %s LIMIT 1"""
OF_OTHER_PROGRAMS = "SELECT count(*) FROM series WHERE metric !~ '^(dask|observatory)_'"
NAMED = """SELECT count(DISTINCT labels->>'task_prefix_name') FROM series
    WHERE metric = 'dask_scheduler_prefix_state_totals_total'"""
SUMMED = """SELECT max(value) FROM sample JOIN series ON series.id = series_id
    WHERE metric = 'dask_scheduler_prefix_state_totals_total'
      AND labels->>'task_prefix_name' = 'others' AND labels->>'state' = 'memory'"""


async def test_prefixes_beyond_a_number_are_summed_and_workers_that_join_have_their_metrics() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.observation is not None))
            await asyncio.to_thread(compute_uuids, dask, MAXIMUM_PREFIXES + 50)
            await eventually(lambda: has_sum(50))
            assert (await read(NAMED))[0][0] == MAXIMUM_PREFIXES + 1
            # what is summed stays summed: a counter never falls
            await asyncio.to_thread(compute_uuids, dask, 20)
            await eventually(lambda: has_sum(70))
            assert (await event_kinds()).count("prefixes-summed") == 1
            dask.start_worker("late", 1, "--no-nanny")
            for metric in ("observatory_worker_cpu_percent", "dask_worker_threads"):
                await eventually(lambda metric=metric: read(OF_WORKER, metric, "late"))
            cluster = await run_in_django_thread(Cluster.objects.get)
        state = await run_in_django_thread(progress_of, cluster)
        assert sum(row["done"] for row in state) == MAXIMUM_PREFIXES + 70


async def has_sum(value: float) -> bool:
    return (await read(SUMMED))[0][0] == value


def compute_uuids(dask: Scheduler, count: int) -> None:
    """Tasks whose keys are uuids: each is a prefix of its own."""
    with dask.client() as client:
        futures = [client.submit(abs, -1, key=f"job{uuid4().hex}") for _ in range(count)]
        client.gather(futures)


def progress_of(cluster: Cluster) -> list[dict[str, Any]]:
    with read_connection() as connection:
        return state_at(connection, Scope(cluster), 2**62)["progress"]


async def refused_events() -> bool:
    return "series-refused" in await event_kinds()


def test_series_by_prefix_that_are_gone_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, SeriesKind.OF_PREFIXES, 2)
    limit = SeriesLimit(0)
    metric = "dask_scheduler_tasks_output_bytes"
    first, second, third = (Series(metric, (("task_prefix_name", name),)) for name in "abc")
    assert [limit.admits(series) for series in (first, second, third)] == [True, True, False]
    limit.keep_prefixes([second, third])
    assert limit.admits(third)
    assert not limit.admits(first)


def test_the_series_of_a_worker_that_left_are_freed() -> None:
    limit = SeriesLimit(2)
    assert limit.admits(Series("a", worker="tcp://x:1"))
    assert limit.admits(Series("b"))
    assert not limit.admits(Series("c"))
    limit.forget("tcp://x:1")
    assert limit.admits(Series("c"))
    assert not limit.admits(Series("d"))


async def test_erred_tasks_are_counted_although_the_event_stream_lacks_them() -> None:
    def fail(dask: Scheduler) -> None:
        with dask.client() as client:
            client.gather(client.map(lambda x: 1 / 0, range(7), pure=False), errors="skip")

    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.RECEIVING))
            await asyncio.to_thread(fail, dask)
            # by now they may be forgotten again
            await asyncio.to_thread(fail, dask)
            await eventually(lambda: read("SELECT 1 FROM extent WHERE errors = 14"))
            await asyncio.sleep(2)
            assert await read("SELECT errors FROM extent") == [(14,)]
            counts = await read("SELECT (detail->>'count')::int FROM event WHERE kind = 'tasks-erred'")
            assert sum(count for (count,) in counts) == 14
            assert await read("SELECT count(*) FROM span") == [(0,)]


def test_two_sources_of_erred_tasks_are_not_added_up() -> None:
    erred = ErredTaskCount()
    assert erred.add_count(3) == 3
    assert erred.add_transitions(5) == 2
    assert erred.add_count(5) == 0
    assert erred.add_count(0) == 0
    assert erred.add_transitions(5) == 0
    assert erred.add_transitions(6) == 1


def test_tasks_that_erred_while_nobody_counted_are_reported_afterwards() -> None:
    erred = ErredTaskCount(reported=112)
    assert erred.add_count(120) == 8, "so many are in the state erred"
    assert erred.add_transitions(140) == 20
    assert erred.add_transitions(141) == 1
    restarted = ErredTaskCount(reported=112)
    assert restarted.add_count(3) == 0
    assert restarted.add_transitions(3) == 0, "the scheduler's counts began anew"
    assert restarted.add_transitions(5) == 2


async def test_a_scheduler_too_busy_to_give_its_id_is_observed() -> None:
    def work(dask: Scheduler, seconds: float) -> None:
        with dask.client() as client:
            count = int(seconds / 0.02 * 2)
            client.gather(client.map(lambda x: time.sleep(0.02), range(count), pure=False))

    with scheduler(workers=1) as dask:
        busy = asyncio.create_task(asyncio.to_thread(work, dask, 15))
        await asyncio.sleep(2)
        async with observed(dask.url) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.observation is not None))
            assert watcher.observation.cluster.scheduler_id.startswith("unnamed:")
            await eventually(lambda: read("SELECT 1 FROM span"))
            memory = "metric = 'observatory_worker_memory_bytes'"
            kinds = f"SELECT count(DISTINCT labels->>'type') FROM series WHERE {memory}"
            await eventually(lambda: has(kinds, 4))
            await eventually(
                lambda: has("SELECT 1 FROM series WHERE metric = 'observatory_worker_cpu_percent'", 1)
            )
            assert watcher.identity_poller.failures == 1
            await busy
            await eventually(lambda: named())
        (cluster,) = await run_in_django_thread(lambda: list(Cluster.objects.all()))
        assert cluster.scheduler_id.startswith("Scheduler-")
        assert await read("SELECT name, nthreads FROM worker") == [("w0", 2)]


async def test_a_busy_scheduler_logs_one_failed_request_and_its_workers_are_sampled_at_the_usual_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(dask: Scheduler) -> None:
        with dask.client() as client:
            for _ in range(6):
                # short tasks with pauses: at most polls no task is being processed
                client.gather(client.map(lambda x: time.sleep(0.02), range(40), pure=False))
                time.sleep(0.7)
            client.gather(client.map(lambda x: time.sleep(0.02), range(1_000), pure=False))

    def loads() -> Any:
        return read(
            """SELECT count(*) FILTER (WHERE metric = 'observatory_worker_cpu_percent'),
                      count(*) FILTER (WHERE metric = 'dask_worker_threads'),
                      extract(epoch FROM max(time) - min(time))::float8
               FROM sample JOIN series ON series.id = series_id
               WHERE metric IN ('observatory_worker_cpu_percent', 'dask_worker_threads')
               AND time > to_timestamp(%s)""",
            busy,
        )

    log = tmp_path / "scheduler.log"
    with scheduler(workers=1, log=log) as dask:
        async with observed(dask.url, metrics_interval=5, identity_interval=0.5) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.RECEIVING))
            working = asyncio.create_task(asyncio.to_thread(work, dask))
            await eventually(lambda: asyncio.sleep(0, watcher.identity_poller.failures))
            await asyncio.sleep(4)
            busy = time.time()
            await working
            ((cpu, stored, seconds),) = await loads()
            assert cpu > seconds / 0.5 * 0.6
            assert stored <= seconds / 5 + 2
            poller = watcher.identity_poller
            # an identity of the idle scheduler says all that was missing: it is not requested again
            await eventually(lambda: asyncio.sleep(0, poller.known and poller.listed <= poller.known))
            requested: list[None] = []
            monkeypatch.setattr(poller, "_identity", lambda: requested.append(None) or poller._workers())
            await asyncio.sleep(FIRST_WAIT + 3)
            assert not requested
            poller.known.clear()
            await eventually(lambda: asyncio.sleep(0, requested))
    assert log.read_text().count("Uncaught exception GET /json/identity.json") == 1


async def named() -> bool:
    return await run_in_django_thread(Cluster.objects.filter(scheduler_id__startswith="Scheduler-").exists)


async def has(query: str, value: int) -> bool:
    return (await read(query)) == [(value,)]
