"""Metrics that users add to heartbeats, read from a stock scheduler and reported by the agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed import Client

import observatory.agent
from observatory.wire.workers.custom_metrics import LONGEST_NAME, MAXIMUM, METRIC, CustomMetrics
from tests.agent.eventually import eventually as eventually_true
from tests.agent.fake_server import TOKEN, fake_server
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import eventually, observed, read

PRELOAD = """
async def seats(worker): return 7
def depth(worker): return {"high": 3, "low": 40}
def text(worker): return "busy"
def gpu(worker): return {"utilization": 42, "memory-used": 3_000_000_000}
def told(worker): return {"name": "Fake A100", "memory-total": 16_000_000_000}
def dask_setup(worker):
    worker.metrics.update(license_seats=seats, queue_depth=depth, mood=text, gpu=gpu)
    worker.startup_information["gpu"] = told
"""
EXPECTED = {
    (METRIC, "license_seats"): 7,
    (METRIC, "queue_depth.high"): 3,
    (METRIC, "queue_depth.low"): 40,
    ("observatory_worker_gpu_memory_bytes", "used"): 3e9,
    ("observatory_worker_gpu_memory_bytes", "total"): 16e9,
    ("observatory_worker_gpu_memory_ratio", ""): 3 / 16,
    ("observatory_worker_gpu_utilization_percent", ""): 42,
}
RECORDED = """SELECT DISTINCT ON (series.id) metric, coalesce(labels->>'name', labels->>'type', ''), value
    FROM sample JOIN series ON series.id = series_id
    WHERE metric = %s OR metric LIKE 'observatory_worker_gpu%%' ORDER BY series.id, time DESC"""


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Scheduler]:
    preload = tmp_path / "custom_metrics.py"
    preload.write_text(PRELOAD)
    with scheduler() as running:
        running.start_worker("w0", 1, "--no-nanny", "--preload", str(preload))
        with running.client() as client:
            client.wait_for_workers(1, timeout=180)
        yield running


@pytest.mark.usefixtures("store")
async def test_they_are_recorded_from_a_stock_scheduler(dask: Scheduler) -> None:
    async def recorded() -> bool:
        rows = await read(RECORDED, METRIC)
        return {(metric, label): value for metric, label, value in rows} == EXPECTED

    async with observed(dask.url):
        await eventually(recorded)
        [(message,)] = await eventually(
            lambda: read("SELECT detail->>'message' FROM event WHERE kind = 'metrics-ignored'")
        )
        assert "mood" in message


def test_they_are_reported_by_the_agent(dask: Scheduler) -> None:
    with fake_server() as received, Client(dask.address, timeout=120, set_as_default=False) as client:
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")

        def recorded() -> dict[tuple[str, str], float]:
            found = {}
            for row in received.rows["sample"]:
                metric, labels, _, _ = json.loads(row["series"])
                if metric == METRIC or metric.startswith("observatory_worker_gpu"):
                    found[metric, labels.get("name", labels.get("type", ""))] = row["value"]
            return found

        eventually_true(lambda: recorded() == EXPECTED)
        ignored = [
            row["detail"]["message"] for row in received.rows["event"] if row["kind"] == "metrics-ignored"
        ]
        assert len(ignored) == 1
        assert "mood" in ignored[0]
        observatory.agent.unregister(client)


def test_hostile_metrics_are_bounded_and_told_once() -> None:
    told: list[str] = []
    custom = CustomMetrics(told.append)
    nested: dict[str, object] = {"deep": 1}
    for _ in range(50):
        nested = {"a": nested}
    first = custom.read(
        "w0", {"x" * 500: 1, "line\nbreak\x00": 2, "nan": float("nan"), "nested": nested, "cpu": 9}
    )
    assert max(map(len, first)) <= LONGEST_NAME
    assert sorted(first.values()) == [1, 2]
    for second in range(100):
        values = custom.read("w0", {f"m{second}.{number}": number for number in range(20)})
        assert len(values) <= MAXIMUM
    assert len(custom.read("w1", {str(number): number for number in range(5000)})) == MAXIMUM
    assert len(told) == 3


def test_numpy_numbers_and_truths_are_numbers_and_none_is_missing() -> None:
    told: list[str] = []
    values = {
        "a": np.float32(1.5),
        "b": np.int64(2),
        "c": True,
        "d": None,
        "gpu": 5,
        7: {"x": 1},
        "huge": 10**400,
    }
    assert CustomMetrics(told.append).read("w0", values) == {"a": 1.5, "b": 2, "c": 1, "gpu": 5, "7.x": 1}
    assert [message for message in told if "huge" not in message] == []
