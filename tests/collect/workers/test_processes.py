"""Several workers in one process: LocalCluster(processes=False)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.metrics import values_of
from observatory.alerts.rules.conditions import Aggregate, By, Comparison, MetricCondition, RuleSpec, Selector
from observatory.alerts.silences.matchers import Matcher
from observatory.clusters.models import Cluster
from observatory.collect.collector.database import run_in_django_thread
from observatory.store.connection import read_connection
from observatory.store.queries.windows.totals import window_totals
from tests.collect.dask_processes import RESULT_SIZE, one_process, scheduler
from tests.collect.observer import eventually, observed, read

pytestmark = pytest.mark.usefixtures("store")
LAST = """SELECT DISTINCT ON (series.id) value, coalesce(worker.name, '') FROM sample
    JOIN series ON series.id = series_id LEFT JOIN worker ON worker.id = worker_id
    WHERE metric = %s AND labels @> %s::jsonb ORDER BY series.id, time DESC"""

NEWER = """SELECT DISTINCT coalesce(worker.name, '') FROM sample JOIN series ON series.id = series_id
    LEFT JOIN worker ON worker.id = worker_id WHERE metric = %s AND time > %s"""


async def last(metric: str, labels: str = "{}") -> dict[str, float]:
    """The last value of a metric by worker, "" for the scheduler's or the cluster's."""
    return {worker: value for value, worker in await read(LAST, metric, labels)}


@pytest.mark.parametrize("protocol", ["inproc", "tcp"])
async def test_a_process_with_three_workers_and_the_scheduler_is_counted_once(protocol: str) -> None:
    with one_process(protocol) as url:
        async with observed(url) as watcher:
            await eventually(lambda: all_reported(3))
            await eventually(are_counted_once)
            cluster = await run_in_django_thread(lambda: Cluster.objects.get())
            since = (await read("SELECT max(time) FROM sample"))[0][0]
            own = await eventually(lambda: workers_with("dask_worker_threads", since, 3))
            assert own == {"0", "1", "2"}
            await eventually(lambda: workers_with("process_resident_memory_bytes", since, 1))
            [whole] = (await last("observatory_cluster_memory_bytes", '{"type": "process"}')).values()
            now = watcher.clock.now()
        peak, sums = await run_in_django_thread(peak_and_sums, cluster, now)
        assert whole * 0.9 < peak < whole * 1.1
        assert whole * 0.9 < sums["observatory_worker_memory_bytes", "process"] < whole * 1.1
        assert 3 * RESULT_SIZE <= sums["observatory_worker_memory_bytes", "managed"] < 3.1 * RESULT_SIZE
        # the one registry is stored once, and each worker's own metrics of it
        assert sums["dask_scheduler_tasks", ""] == 3
        for metric in ("process_resident_memory_bytes", "dask_scheduler_tasks"):
            assert await workers_with(metric, since, 1) == {""}


async def are_counted_once() -> bool:
    """Whether the process counts once in the cluster's memory, and what belongs to each worker adds up."""
    worker = await last("observatory_worker_memory_bytes", '{"type": "process"}')
    each = await last("observatory_worker_memory_bytes", '{"type": "unmanaged"}')
    cluster = {
        type: (await last("observatory_cluster_memory_bytes", f'{{"type": "{type}"}}')).get("", 0.0)
        for type in ("process", "managed", "unmanaged")
    }
    return (
        min(worker.values()) * 0.9 < cluster["process"] < max(worker.values()) * 1.1
        and 3 * RESULT_SIZE <= cluster["managed"] < 3.1 * RESULT_SIZE
        and cluster["unmanaged"] == pytest.approx(cluster["process"] - cluster["managed"])
        and list(each.values()) == pytest.approx([cluster["unmanaged"]] * 3, rel=0.1)
    )


def peak_and_sums(cluster: Cluster, now: float) -> tuple[float, dict[tuple[str, str], float]]:
    """The peak of the window, and what rules that sum a metric over the cluster see at its end."""
    start, stop = (datetime.fromtimestamp(time, UTC) for time in (now - 3600, now))
    wanted = [
        ("observatory_worker_memory_bytes", "process"),
        ("observatory_worker_memory_bytes", "managed"),
        ("dask_scheduler_tasks", ""),
    ]
    with read_connection() as connection:
        peak = window_totals(connection, cluster.pk, start, stop).peak_memory
        data = WindowData(connection, cluster, now - 10, now)
        sums = {}
        for metric, type in wanted:
            matchers = (Matcher("type", "=", type),) if type else ()
            condition = MetricCondition(
                Selector(metric, matchers), By.CLUSTER, Aggregate.SUM, Comparison.ABOVE, 0.0
            )
            data.load([RuleSpec((condition,))])
            sums[metric, type] = float(values_of(data, condition).steps.values[-1])
    assert peak is not None
    return peak, sums


async def test_workers_with_processes_of_their_own_add_up() -> None:
    with scheduler(workers=2) as dask:
        async with observed(dask.url):
            await eventually(lambda: all_reported(2))
            since = (await read("SELECT min(time) FROM sample"))[0][0]
            worker = await last("observatory_worker_memory_bytes", '{"type": "process"}')
            [whole] = (await last("observatory_cluster_memory_bytes", '{"type": "process"}')).values()
            assert whole == pytest.approx(sum(worker.values()), rel=0.1)
            assert await eventually(lambda: workers_with("process_resident_memory_bytes", since, 3))


async def all_reported(workers: int) -> bool:
    return len(await last("observatory_worker_memory_bytes", '{"type": "process"}')) == workers


async def workers_with(metric: str, since: datetime, count: int) -> set[str]:
    """The names of those with later samples of a metric, "" for the scheduler; empty if they are fewer."""
    found = {worker for (worker,) in await read(NEWER, metric, since)}
    return found if len(found) >= count else set()
