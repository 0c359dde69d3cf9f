"""Metrics of GPUs, with what a worker with a GPU reports: the tests' machines have none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from distributed import Client, LocalCluster
from distributed.worker import DEFAULT_METRICS, DEFAULT_STARTUP_INFORMATION

import observatory.agent
from observatory.collect.scheduler.identity import Problems, read_identity
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, fake_server

GIB = 2.0**30
EXPECTED = {
    ("observatory_worker_gpu_memory_bytes", "used"): 3 * GIB,
    ("observatory_worker_gpu_memory_bytes", "total"): 16 * GIB,
    ("observatory_worker_gpu_utilization_percent", ""): 70,
    ("observatory_worker_rmm_memory_bytes", "used"): GIB,
    ("observatory_worker_rmm_memory_bytes", "total"): 2 * GIB,
}


async def gpu(worker: Any) -> dict[str, float]:
    return {"utilization": 70, "memory-used": 3 * GIB}


async def rmm(worker: Any) -> dict[str, float]:
    return {"rmm-used": GIB, "rmm-total": 2 * GIB}


def test_a_gpu_is_recorded_by_the_agent_and_read_from_a_stock_scheduler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(DEFAULT_METRICS, "gpu", gpu)
    monkeypatch.setitem(DEFAULT_METRICS, "rmm", rmm)
    total = {"memory-total": 16 * GIB, "name": "A100"}
    monkeypatch.setitem(DEFAULT_STARTUP_INFORMATION, "gpu", lambda worker: total)
    with (
        fake_server() as received,
        LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")

        def recorded() -> dict[tuple[str, str], float]:
            found = {}
            for row in received.rows["sample"]:
                metric, labels, _, _ = json.loads(row["series"])
                found[metric, labels.get("type", "")] = row["value"]
            return {name: found[name] for name in EXPECTED if name in found}

        eventually(lambda: recorded() == EXPECTED)
        page = json.loads(json.dumps(cluster.scheduler.identity(), default=str))
        [worker] = read_identity(page, Problems("tests")).workers.values()
        assert worker.heartbeat is not None
        values = worker.heartbeat.values
        assert {
            (metric, kind): value for (metric, _, kind), value in values.items()
        }.items() >= EXPECTED.items()


@pytest.mark.parametrize("told", [7, "busy", None, [], {"memory-used": "much"}])
def test_a_metric_of_another_kind_with_that_name_is_ignored(told: Any) -> None:
    page = {"memory": 1.0, "time": 1.7e9, "gpu": told, "rmm": told}
    worker = {"last_seen": 1.7e9, "metrics": page, "gpu": told}
    address = {"tcp://127.0.0.1:1": worker}
    identity = {"type": "Scheduler", "id": "Scheduler-1", "started": 1.7e9, "workers": address}
    [read] = read_identity(identity, Problems("tests")).workers.values()
    assert read.heartbeat is not None
    assert not [metric for metric, _, _ in read.heartbeat.values if "gpu" in metric or "rmm" in metric]
