"""Samples and sums of Dask's metrics on a real cluster, as an agent reports them."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

import dask
import dask.datasets
import pytest
from distributed import Client, span, wait

from tests.agent.eventually import eventually
from tests.agent.fake_server import FakeServer


def increment(number: int) -> int:
    return number + 1


def sleep_a_little(number: int) -> None:
    time.sleep(0.01)


def test_counts_by_state_and_memory_by_prefix_are_those_of_the_scheduler(
    client: Client, received: FakeServer
) -> None:
    held = client.map(increment, range(30), pure=False)
    wait(held)

    def latest(series: str) -> float | None:
        values = [row["value"] for row in received.rows["sample"] if row["series"].startswith(series)]
        return values[-1] if values else None

    states = '["observatory_cluster_tasks", {"state": "memory"}'
    memory = '["observatory_prefix_memory_bytes", {"prefix": "increment"}'
    eventually(lambda: latest(states) == 30)
    eventually(lambda: latest(memory) == 30 * 28)
    del held
    eventually(lambda: latest(states) == 0)
    eventually(lambda: latest(memory) == 0)


def test_the_clusters_memory_is_sampled_as_often_as_its_workers(client: Client, received: FakeServer) -> None:
    held = client.submit(bytes, 5_000_000, pure=False)
    wait(held)
    managed = '["observatory_cluster_memory_bytes", {"type": "managed"}'

    def reported(series: str) -> list[dict[str, Any]]:
        return [row for row in received.rows["sample"] if row["series"].startswith(series)]

    def times(series: str, until: float) -> set[float]:
        return {row["time"] for row in reported(series) if row["time"] < until}

    eventually(lambda: reported(managed) and reported(managed)[-1]["value"] >= 5_000_000)
    before = len(reported(managed))
    eventually(lambda: len(reported(managed)) >= before + 3)
    newest = reported(managed)[-1]["time"]
    assert times(managed, newest) == times('["observatory_worker_processing_tasks"', newest)


def test_fine_performance_is_recorded_by_dask_span_and_adds_up_to_the_schedulers(
    client: Client, received: FakeServer
) -> None:
    for number in range(3):
        with span(f"stage {number}"), span("inner"):
            keys = [(f"sleep_a_little-{number:032x}", part) for part in range(10)]
            wait(client.map(sleep_a_little, range(10), key=keys))

    def counted() -> dict[tuple[str, ...], float]:
        metrics = client.cluster.scheduler.cumulative_worker_metrics
        return {name: value for name, value in metrics.items() if "sleep_a_little" in name and value}

    def recorded() -> dict[tuple[str, ...], float]:
        sums: dict[tuple[str, ...], float] = defaultdict(float)
        for row in received.rows["fine_performance"]:
            if row["prefix"] == "sleep_a_little":
                sums[row["context"], row["prefix"], row["activity"], row["unit"]] += row["value"]
        return dict(sums)

    def names() -> set[tuple[str, ...]]:
        return {tuple(row["names"]) for row in received.rows["fine_performance"]}

    eventually(lambda: names() >= {(f"stage {number}", "inner") for number in range(3)})
    eventually(lambda: recorded() == pytest.approx(counted()))


def test_no_series_is_of_one_submission_only(client: Client, received: FakeServer) -> None:
    frame = dask.datasets.timeseries("2000-01-01", "2000-01-10", partition_freq="1D", freq="1min")
    with dask.config.set({"dataframe.shuffle.method": "p2p"}):
        client.compute(frame.shuffle("name").x.sum()).result(120)
    eventually(lambda: received.rows["fine_performance"])
    ids = {row["dask_span"] for row in received.rows["fine_performance"]}
    ids |= {row["computation"] for row in received.rows["computation"]}
    ids |= {event["detail"].get("shuffle", "") for event in received.events("shuffle")} - {""}
    series = {row["series"] for row in received.rows["sample"]}
    assert [one for one in series if any(id in one for id in ids)] == []
