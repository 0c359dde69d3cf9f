"""Metrics of GPUs, with what a worker with a GPU reports: the tests' machines have none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from distributed import Client, LocalCluster
from distributed.worker import DEFAULT_METRICS, DEFAULT_STARTUP_INFORMATION

import observatory.agent
from observatory.collect.scheduler.identity import Problems, read_identity
from observatory.wire.workers.custom_metrics import CustomMetrics
from observatory.wire.workers.gpus import heartbeat_values
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, fake_server

GIB = 2.0**30
EXPECTED = {
    ("observatory_worker_gpu_memory_bytes", "used"): 3 * GIB,
    ("observatory_worker_gpu_memory_bytes", "total"): 16 * GIB,
    ("observatory_worker_gpu_memory_ratio", ""): 3 / 16,
    ("observatory_worker_gpu_utilization_percent", ""): 70,
    ("observatory_worker_gpu_spilled_bytes", "cudf"): 2 * GIB,
    ("observatory_worker_rmm_memory_bytes", "used"): GIB,
    ("observatory_worker_rmm_memory_bytes", "total"): 2 * GIB,
}


async def gpu(worker: Any) -> dict[str, float]:
    return {"utilization": 70, "memory-used": 3 * GIB}


async def rmm(worker: Any) -> dict[str, float]:
    return {"rmm-used": GIB, "rmm-total": 2 * GIB}


async def cudf(worker: Any) -> dict[str, float]:
    return {"cudf-spilled": 2 * GIB}


def test_a_gpu_is_recorded_by_the_agent_and_read_from_a_stock_scheduler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(DEFAULT_METRICS, "gpu", gpu)
    monkeypatch.setitem(DEFAULT_METRICS, "rmm", rmm)
    monkeypatch.setitem(DEFAULT_METRICS, "cudf", cudf)
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
                found[metric, labels.get("type", labels.get("by", ""))] = row["value"]
            return {name: found[name] for name in EXPECTED if name in found}

        eventually(lambda: recorded() == EXPECTED)
        page = json.loads(json.dumps(cluster.scheduler.identity(), default=str))
        [worker] = read_identity(page, Problems("tests")).workers.values()
        assert worker.heartbeat is not None
        values = worker.heartbeat.values
        assert {
            (metric, kind): value for (metric, _, kind), value in values.items()
        }.items() >= EXPECTED.items()


def values_of(metrics: dict[str, Any], told: dict[str, Any]) -> dict[tuple[str, str], Any]:
    found = heartbeat_values(metrics, told)
    return {(metric, kind): value for metric, _, kind, value in found if value is not None}


def test_a_worker_without_dask_cuda_has_the_values_of_dasks_system_monitor() -> None:
    # as distributed 2026.8 sends them where pynvml is installed and nothing else initialized NVML before
    metrics = {"gpu-memory-total": 85520809984, "gpu_utilization": 93, "gpu_memory_used": 42529193984}
    assert values_of(metrics, {}) == {
        ("gpu_memory_bytes", "used"): 42529193984,
        ("gpu_memory_bytes", "total"): 85520809984,
        ("gpu_memory_ratio", ""): 42529193984 / 85520809984,
        ("gpu_utilization_percent", ""): 93,
    }
    assert CustomMetrics(lambda message: None).read("w0", metrics) == {}


def test_a_utilization_that_a_gpu_does_not_tell_is_no_value() -> None:
    metrics = {"gpu": {"utilization": None, "memory-used": GIB}}
    assert values_of(metrics, {"gpu": {"memory-total": None}}) == {("gpu_memory_bytes", "used"): GIB}


@pytest.mark.parametrize(("count", "has_dasks"), [(0, True), (2, False), (None, False)])
def test_dasks_values_of_one_gpu_are_left_out_where_the_agent_reads_all(
    count: int | None, has_dasks: bool
) -> None:
    metrics = {"gpu": {"utilization": 5}, "rmm": {"rmm-used": 7}, "observatory_gpus": count}
    found = values_of(metrics, {})
    assert found[("rmm_memory_bytes", "used")] == 7
    assert (("gpu_utilization_percent", "") in found) == has_dasks


@pytest.mark.parametrize("told", [7, "busy", None, [], {"memory-used": "much"}])
def test_a_metric_of_another_kind_with_that_name_is_ignored(told: Any) -> None:
    page = {"memory": 1.0, "time": 1.7e9, "gpu": told, "rmm": told}
    worker = {"last_seen": 1.7e9, "metrics": page, "gpu": told}
    address = {"tcp://127.0.0.1:1": worker}
    identity = {"type": "Scheduler", "id": "Scheduler-1", "started": 1.7e9, "workers": address}
    [read] = read_identity(identity, Problems("tests")).workers.values()
    assert read.heartbeat is not None
    assert not [metric for metric, _, _ in read.heartbeat.values if "gpu" in metric or "rmm" in metric]
