"""Scheduler, workers and clients tell their own configuration, each as Dask has it in its process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask
import pytest

import observatory.agent
from observatory.agent.environment import SETTINGS, SHARED_SETTINGS
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.collect.dask_processes import Scheduler, scheduler

OF_SCHEDULER = {
    "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "1.7",
    "DASK_ARRAY__CHUNK_SIZE": "32MiB",
}
OF_WORKER = {"DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "0.55", "DASK_ARRAY__CHUNK_SIZE": "48MiB"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Scheduler]:
    with scheduler(**OF_SCHEDULER) as dask_scheduler:
        dask_scheduler.config = {}
        dask_scheduler.start_worker("w0", 1, "--no-nanny")
        dask_scheduler.config = OF_WORKER
        dask_scheduler.start_worker("w1", 1, "--no-nanny")
        with dask_scheduler.client() as client:
            client.wait_for_workers(2, timeout=180)
        yield dask_scheduler


def configuration(names: tuple[str, ...]) -> dict[str, Any]:
    unset = object()
    found = {name: dask.config.get(name, unset) for name in names}
    return {name: value for name, value in found.items() if value is not unset}


def test_each_process_tells_its_own_configuration(cluster: Scheduler) -> None:
    with fake_server() as received, cluster.client() as client:
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")
        try:
            with (
                dask.config.set({"array.chunk-size": "64MiB"}),
                observatory.run("configured", client=client),
            ):
                of_client = configuration(SHARED_SETTINGS)
            [started] = eventually(lambda: received.events("agent-started"))
            [described] = eventually(lambda: received.events("client-described"))
            workers = eventually(lambda: _described(received, 2))
        finally:
            observatory.agent.unregister(client)
        of_scheduler = client.run_on_scheduler(configuration, (*SETTINGS["scheduler"], *SHARED_SETTINGS))
        of_workers = client.run(configuration, (*SETTINGS["worker"], *SHARED_SETTINGS))
    told = started["detail"]["configuration"]
    assert told == of_scheduler
    assert told["distributed.scheduler.work-stealing"] is False
    assert told["distributed.scheduler.worker-saturation"] == 1.7
    assert workers == of_workers
    assert sorted(one["distributed.worker.memory.target"] for one in workers.values()) == [0.55, 0.6]
    assert described["detail"]["configuration"] == of_client
    sizes = {told["array.chunk-size"], *(one["array.chunk-size"] for one in workers.values())}
    assert {*sizes, of_client["array.chunk-size"]} == {"32MiB", "48MiB", "64MiB", "128MiB"}


def _described(received: FakeServer, count: int) -> dict[str, Any]:
    """The configuration of each worker by its address, once all have told it."""
    found = {
        row["address"]: row["detail"]["configuration"]
        for row in received.rows["worker"]
        if "configuration" in row["detail"]
    }
    return found if len(found) == count else {}
