"""A stock cluster is recorded."""

from __future__ import annotations

import asyncio

import pytest

from observatory.clusters.models import Cluster, Target
from observatory.collect.collector.collector import needs_restart
from observatory.collect.collector.database import run_in_django_thread
from observatory.store.target_rows import TargetRow
from tests.collect.dask_processes import free_port, scheduler
from tests.collect.observer import eventually, observed, read

pytestmark = pytest.mark.usefixtures("store")


async def test_a_running_cluster_is_recorded_with_workers_spans_and_samples() -> None:
    with scheduler(workers=2) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: read("SELECT 1 FROM worker HAVING count(*) = 2"))
            await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.RECEIVING))

            def work() -> None:
                with dask.client() as client:
                    client.gather(client.map(lambda x: x + 1, range(50), key="inc"))

            await asyncio.to_thread(work)
            await eventually(lambda: read("SELECT 1 FROM span WHERE action = 0 HAVING count(*) = 50"))
            for metric in (
                "observatory_worker_memory_bytes",
                "observatory_worker_cpu_percent",
                "observatory_cluster_tasks",
                "observatory_cluster_memory_bytes",
            ):
                await eventually(lambda name=metric: read("SELECT 1 FROM series WHERE metric = %s", name))
            await eventually(lambda: read("SELECT 1 FROM series WHERE metric = 'dask_worker_threads'"))
            await eventually(lambda: read("SELECT 1 FROM series WHERE metric = 'dask_scheduler_tasks'"))
            finished = """SELECT 1 FROM sample JOIN series ON series.id = series_id
                          WHERE metric = 'observatory_cluster_tasks_finished_total' AND value = 50"""
            await eventually(lambda: read(finished))
            load = "SELECT 1 FROM series WHERE metric LIKE 'observatory_scheduler_%%' HAVING count(*) >= 2"
            await eventually(lambda: read(load))
            seconds = "SELECT 1 FROM series WHERE metric = 'observatory_cluster_task_seconds_total'"
            await eventually(lambda: read(seconds))
            help = "SELECT 1 FROM clusters_metrichelp WHERE name = 'dask_worker_threads' AND help > ''"
            await eventually(lambda: read(help))
    cluster = await run_in_django_thread(Cluster.objects.get)
    assert cluster.scheduler_id.startswith("Scheduler-")


async def test_a_target_where_no_scheduler_ever_answered_says_that_and_not_what_is_there() -> None:
    async with observed(f"http://127.0.0.1:{free_port()}") as watcher:
        target = watcher.target.pk
        await eventually(lambda: run_in_django_thread(Target.objects.exclude(last_error="").exists))
        error = await run_in_django_thread(lambda: Target.objects.get(pk=target).last_error)
        assert error.endswith(": no Dask scheduler answers there")


async def test_the_rows_of_more_targets_are_updated_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("observatory.collect.collector.load.pace.UPDATES_PER_SECOND", 1e-6)
    async with observed(f"http://127.0.0.1:{free_port()}") as watcher:
        updates: list[TargetRow] = []

        async def noted(status: TargetRow) -> None:
            updates.append(status)

        monkeypatch.setattr(watcher.shared.rows, "update", noted)
        rounds = 0
        save_ends = watcher.tracker.save_ends

        async def counted() -> None:
            nonlocal rounds
            rounds += 1
            await save_ends()

        watcher.tracker.save_ends = counted  # type: ignore[method-assign]
        await eventually(lambda: asyncio.sleep(0, rounds >= 4))
        assert len(updates) == 1


async def test_a_shorter_interval_counts_at_once_and_not_after_the_longer_one() -> None:
    with scheduler() as dask:
        async with observed(dask.url, identity_interval=3600.0) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.polls.answered and watcher.observation))
            answered = watcher.polls.answered
            changed = await run_in_django_thread(Target.objects.get)
            changed.identity_interval = 0.5
            assert not needs_restart(watcher, changed)
            await eventually(lambda: asyncio.sleep(0, watcher.polls.answered > answered))
