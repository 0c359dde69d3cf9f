"""Every span in Dask's own task stream is stored once."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from distributed.diagnostics.task_stream import TaskStreamPlugin
from distributed.utils import key_split_group

from observatory.clusters.models import Target
from observatory.store.keys import decode_key
from observatory.wire.records import Action
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import eventually, observed, read

pytestmark = pytest.mark.usefixtures("store")

TASKS = 3_000


def run(dask: Scheduler) -> list[dict[str, object]]:
    """Runs TASKS tasks. Returns the records of TaskStreamPlugin on the scheduler."""

    def start(dask_scheduler: object) -> None:
        dask_scheduler.add_plugin(TaskStreamPlugin(dask_scheduler, maxlen=10 * TASKS))

    def collect(dask_scheduler: object) -> list[dict[str, object]]:
        plugin = dask_scheduler.plugins[TaskStreamPlugin.name]
        names = ("key", "worker", "thread", "startstops")
        return [{name: message[name] for name in names} for message in plugin.buffer]

    with dask.client() as client:
        client.run_on_scheduler(start)
        left = client.map(lambda x: x, range(TASKS // 2), key=[("left-1", i) for i in range(TASKS // 2)])
        right = client.map(lambda x: x, left, key=[f"right-{i}" for i in range(TASKS // 2)])
        client.gather(right)
        return client.run_on_scheduler(collect)


async def test_every_span_of_a_run_of_thousands_of_tasks_is_stored_once() -> None:
    with scheduler(workers=2) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.RECEIVING))
            recorded = await asyncio.to_thread(run, dask)
            expected = Counter(
                (
                    str(message["key"]),
                    message["worker"],
                    message["thread"],
                    Action.of(each["action"]).value,
                    round(each["start"] * 1e6),
                    round(each["stop"] * 1e6),
                )
                for message in recorded
                for each in message["startstops"]
            )
            assert len(recorded) == TASKS
            await eventually(
                lambda: read("SELECT 1 FROM span HAVING count(*) >= %s", expected.total()), what="storing"
            )
    stored = await read(
        """SELECT key_rest, task_group.name, address, thread, action,
                  extract(epoch FROM start) * 1000000, extract(epoch FROM stop) * 1000000
           FROM span JOIN lane ON lane.id = lane_id JOIN worker ON worker.id = lane.worker_id
           JOIN task_group ON task_group.id = group_id"""
    )
    found = Counter(
        (decode_key(rest, group), address, thread, action, int(start), int(stop))
        for rest, group, address, thread, action, start, stop in stored
    )
    assert not expected - found, "some are missing"
    assert not found - expected, "some are stored twice, or changed"
    assert {group for _, group, *_ in stored} == {key_split_group(message["key"]) for message in recorded}
