"""Keys of any type without an agent: named as the scheduler names them, and found by their text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from observatory.clusters.models import Target
from observatory.collect.collector.database import run_in_django_thread
from observatory.replay.task_history import TaskHistory, task_history
from observatory.store.connection import read_connection
from observatory.store.keys import decode_key
from observatory.store.texts import clean_name
from observatory.wire.records import clean_key
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import eventually, observed, read
from tests.support import odd_keys

pytestmark = pytest.mark.usefixtures("store")


def compute(dask: Scheduler) -> dict[Any, tuple[str, str, int, int]]:
    with dask.client() as client:
        return odd_keys.compute(client)


def histories(cluster: int, texts: list[str]) -> dict[str, TaskHistory]:
    with read_connection() as connection:
        return {text: task_history(connection, cluster, text) for text in texts}


async def test_keys_of_any_type_are_named_as_dask_names_them_and_found_by_their_text() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.RECEIVING))
            names = await asyncio.to_thread(compute, dask)
            computed = {key: found for key, found in names.items() if key not in odd_keys.ERRED}
            await eventually(
                lambda: read("SELECT 1 FROM span WHERE action = 0 HAVING count(*) >= %s", len(computed)),
                what="storing",
            )
    stored = await read(
        """SELECT key_rest, prefix.name, task_group.name, span.cluster_id FROM span
           JOIN prefix ON prefix.id = span.prefix_id JOIN task_group ON task_group.id = group_id
           WHERE action = 0"""
    )
    found = {(decode_key(rest, group), prefix, group) for rest, prefix, group, _ in stored}
    assert found == {
        (clean_key(str(key)), clean_name(clean_key(prefix)), clean_name(clean_key(group)))
        for key, (prefix, group, *_) in computed.items()
    }
    [cluster] = {cluster for *_, cluster in stored}
    texts = [clean_key(str(key)) for key in computed]
    for text, history in (await run_in_django_thread(histories, cluster, texts)).items():
        assert len(history.spans) == texts.count(text), text
        assert len(history.prefixes) == texts.count(text), text
