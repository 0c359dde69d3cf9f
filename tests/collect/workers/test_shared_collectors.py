"""Two clusters in one process, which share Dask's Prometheus collectors: each has its own metrics."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.http import turns
from observatory.collect.http.fetch import REQUEST_TIMEOUT
from observatory.collect.http.turns import turn
from tests.collect.observer import eventually, make_target, read, watching

PROGRAM = """
import time
from distributed import Client, LocalCluster

def inc(number):
    return number + 1

def dec(number):
    return number - 1

if __name__ == "__main__":
    kept = []
    for function in (inc, dec):
        cluster = LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0")
        client = Client(cluster)
        client.gather(client.map(function, range(10)))
        kept.append((cluster, client))
        print(cluster.scheduler.http_server.port, flush=True)
    time.sleep(600)
"""
PREFIXES = """SELECT cluster.name, array_agg(DISTINCT series.labels->>'task_prefix_name'),
        count(DISTINCT time)
    FROM sample JOIN series ON series.id = series_id
    JOIN clusters_cluster AS cluster ON cluster.id = series.cluster_id
    WHERE metric = 'dask_scheduler_prefix_state_totals_total' GROUP BY cluster.name"""
PAGES = 40


@pytest.fixture
def urls() -> Iterator[list[str]]:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield [f"http://127.0.0.1:{int(process.stdout.readline())}" for _ in range(2)]
    finally:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("store")
async def test_the_metrics_of_each_of_two_clusters_in_one_process_are_its_own(urls: list[str]) -> None:
    async def pages() -> dict[str, tuple[list[str], int]]:
        return {name: (prefixes, count) for name, prefixes, count in await read(PREFIXES)}

    async def has_pages() -> bool:
        return sum(count > PAGES for _, count in (await pages()).values()) == 2

    inc = await run_in_django_thread(make_target, urls[0], metrics_interval=0.1, name="inc")
    dec = await run_in_django_thread(make_target, urls[1], metrics_interval=0.1, name="dec")
    async with watching(inc, dec):
        await eventually(has_pages)
        assert {name: prefixes for name, (prefixes, _) in (await pages()).items()} == {
            "inc": ["inc"],
            "dec": ["dec"],
        }


async def test_a_turn_is_waited_for_as_long_as_a_request_takes() -> None:
    assert turns.LONGEST_WAIT > REQUEST_TIMEOUT


async def test_who_waits_long_for_a_turn_goes_on_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST_WAIT", 0.1)
    async with turn(1.5), turn(1.5), turn(2.5), turn(None), turn(None):
        pass
    async with asyncio.timeout(60), turn(1.5):
        pass
