"""Samples and sums of Dask's metrics on a real cluster, as an agent reports them."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from functools import partial
from typing import Any
from uuid import uuid4

import dask
import dask.datasets
import pytest
from distributed import Client, Event, LocalCluster, span, wait

import observatory.agent
from observatory.agent.delivery.pace import LONG_REST
from observatory.agent.scheduler.bandwidth import MAXIMUM_TYPES, METRIC, OTHER, Bandwidth
from observatory.wire.records import Action
from observatory.wire.tasks import prefixes
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server


def increment(number: int) -> int:
    return number + 1


def make(size: int) -> bytes:
    return b"x" * size


def wait_for(event: str) -> None:
    Event(event).wait()


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


def test_the_bandwidth_of_transfers_is_sampled_by_the_type_of_their_data(
    client: Client, received: FakeServer
) -> None:
    first, second = sorted(client.scheduler_info()["workers"])
    metric = f'["{METRIC}", {{"type": "bytes"}}'

    def move() -> list[float]:
        """Of the heartbeats between two samples only the last is seen."""
        made = client.submit(make, 5_000_000, workers=[first], pure=False)
        wait(client.submit(len, made, workers=[second], pure=False))
        time.sleep(0.3)
        return [row["value"] for row in received.rows["sample"] if row["series"].startswith(metric)]

    sampled = eventually(move)
    spans = [row for row in received.rows["span"] if row["action"] == Action.TRANSFER]
    measured = [5_000_000 / max(row["stop"] - row["start"], 1e-3) for row in spans]
    assert 0.9 * min(measured) <= sampled[0] <= 1.1 * max(measured)


def samplings(moved: float, dask_scheduler: Any) -> int:
    """How many of ten ticks sample when something other than samples was reported `moved` seconds ago."""
    agent, times = dask_scheduler.plugins["observatory"], list[float]()
    report, agent.sampler._report = agent.sampler._report, times.append
    agent.sender.pace.moved_at = time.monotonic() - moved
    for _ in range(10):
        agent.sampler._tick()
    agent.sampler._report = report
    agent.sender.pace.moved_at = time.monotonic()
    return len(times)


def test_a_cluster_at_rest_is_sampled_at_every_other_tick_and_one_that_works_at_each(
    client: Client, received: FakeServer
) -> None:
    assert client.run_on_scheduler(samplings, 0) == 10
    eventually(lambda: client.run_on_scheduler(samplings, LONG_REST) == 5)
    end = Event("the task may end", client=client)
    future = client.submit(wait_for, end.name, pure=False)
    eventually(lambda: client.run_on_scheduler(samplings, LONG_REST) == 10)
    end.set()
    future.result(timeout=180)


def test_a_stall_of_the_scheduler_is_sampled_whenever_it_begins(client: Client, received: FakeServer) -> None:
    metric = '["observatory_scheduler_event_loop_interval_seconds"'

    def intervals() -> list[float]:
        return [row["value"] for row in received.rows["sample"] if row["series"].startswith(metric)]

    for _ in range(4):
        known = len(intervals())
        client.run_on_scheduler(time.sleep, 1.5)
        eventually(lambda known=known: len(intervals()) > known + 1)
        assert max(intervals()[known:]) > 0.05


def test_a_stall_of_a_worker_is_sampled_whenever_it_begins(client: Client, received: FakeServer) -> None:
    metric = '["observatory_worker_event_loop_interval_seconds"'

    def intervals() -> list[float]:
        return [row["value"] for row in received.rows["sample"] if row["series"].startswith(metric)]

    for _ in range(4):
        known = len(intervals())
        client.run(time.sleep, 1.5)
        eventually(lambda known=known: max(intervals()[known:], default=0) > 0.05)


def test_a_worker_that_registers_has_no_load_before_its_monitor_has_measured_some(
    client: Client, received: FakeServer
) -> None:
    known = set(client.scheduler_info(n_workers=-1)["workers"])
    client.restart_workers(sorted(known)[:1], timeout=180)
    client.wait_for_workers(2, timeout=180)
    [new] = set(client.scheduler_info(n_workers=-1)["workers"]) - known

    def sampled(metric: str) -> list[dict[str, Any]]:
        return [
            row
            for row in received.rows["sample"]
            if (series := json.loads(row["series"]))[0] == metric and series[2] == new
        ]

    load = ("observatory_worker_cpu_percent", "observatory_worker_host_network_bytes_per_second")
    eventually(lambda: all(map(sampled, load)))
    first = sampled("observatory_worker_memory_bytes")[0]
    assert all(sampled(metric)[0]["time"] > first["time"] for metric in load)


def test_many_types_of_data_share_one_series() -> None:
    samples: dict[str, float] = {}
    bandwidth = Bandwidth(lambda now, metric, value, labels: samples.update({labels["type"]: value}))
    bandwidth.add_heartbeat({"bandwidth": {"types": {f"type {n}": (4e6, 2) for n in range(MAXIMUM_TYPES)}}})
    bandwidth.add_heartbeat({"bandwidth": {"types": {"one more": (6e6, 1), "another": (1e6, 1)}}})
    bandwidth.add_heartbeat({"bandwidth": {"types": {"type 0": (1e6, 1)}}})
    bandwidth.sample(1.0)
    assert len(samples) == MAXIMUM_TYPES + 1
    assert samples["type 1"] == 2e6
    assert samples["type 0"] == pytest.approx(5e6 / 3)
    assert samples[OTHER] == 3.5e6
    samples.clear()
    bandwidth.sample(2.0)
    assert not samples, "nothing moved since then"


def test_a_prefix_has_no_memory_directly_before_it_has_some_again(
    client: Client, received: FakeServer
) -> None:
    memory = '["observatory_prefix_memory_bytes", {"prefix": "increment"}'

    def samples() -> list[tuple[float, float]]:
        rows = received.rows["sample"]
        return [(row["time"], row["value"]) for row in rows if row["series"].startswith(memory)]

    for times in (1, 2):
        held = client.map(increment, range(10), pure=False)
        wait(held)
        eventually(lambda: samples() and samples()[-1][1] == 10 * 28)
        del held
        eventually(lambda: samples()[-1][1] == 0)
        values = [value for _, value in samples()]
        rises = [place for place, value in enumerate(values) if value and not values[place - 1]]
        assert len(rises) == times
        assert rises[0] > 0
        # the zero is of the moment when the first result came, not of when the last one left
        entered = {
            row["time"]
            for row in received.rows["transition"]
            if row["key"].startswith("increment-") and row["finish"] == "memory"
        }
        for place in rises:
            zero = samples()[place - 1][0]
            assert any(abs(zero - time) < 0.01 for time in entered)


def test_memory_by_prefix_is_sampled_at_the_tick_after_a_result_came(
    client: Client, received: FakeServer
) -> None:
    memory = '["observatory_prefix_memory_bytes", {"prefix": "increment"}'

    def times(series: str) -> list[tuple[float, float]]:
        rows = received.rows["sample"]
        return [(row["time"], row["value"]) for row in rows if row["series"].startswith(series)]

    def filled(before: int) -> bool:
        return any(value for _, value in times(memory)[before:])

    for _ in range(3):  # a slow tick would have all prefixes by chance
        before = len(times(memory))
        held = client.map(increment, range(5), pure=False)
        wait(held)
        eventually(partial(filled, before))
        came = times(memory)[before][0]
        first = next(time for time, value in times(memory)[before:] if value)
        ticks = {time for time, _ in times('["observatory_cluster_busy_threads"') if came < time <= first}
        assert ticks == {first}
        del held
        eventually(lambda: times(memory)[-1][1] == 0)


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


def test_busy_threads_are_those_that_compute(client: Client, received: FakeServer) -> None:
    series = '["observatory_cluster_busy_threads", {}'

    def reported() -> list[float]:
        return [row["value"] for row in received.rows["sample"] if row["series"].startswith(series)]

    running = client.map(time.sleep, [1.5, 1.5], pure=False)
    eventually(lambda: 2 in reported())
    wait(running)
    eventually(lambda: reported()[-1] == 0)


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


def test_prefixes_beyond_a_number_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefixes, "MAXIMUM_PREFIXES", 5)
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
        fake_server() as received,
    ):
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")
        held = [client.submit(make, 1000, key=f"job{uuid4().hex}") for _ in range(20)]
        wait(held)

        def last(metric: str, label: str) -> dict[str, float]:
            """By prefix: bytes, or how many tasks entered memory."""
            found = {}
            for row in received.rows["sample"]:
                name, labels, _, _ = json.loads(row["series"])
                if name == metric and labels.get("state", "memory") == "memory":
                    found[labels[label]] = row["value"]
            return found

        memory = eventually(lambda: whole(last("observatory_prefix_memory_bytes", "prefix"), 20_000))
        assert len(memory) == 6
        totals = "dask_scheduler_prefix_state_totals_total"
        entered = eventually(lambda: whole(last(totals, "task_prefix_name"), 20))
        assert len(entered) == 6
        assert entered[prefixes.OTHERS] == 15
        eventually(lambda: any(row["kind"] == "prefixes-summed" for row in received.rows["event"]))
        del held
        eventually(lambda: whole(last("observatory_prefix_memory_bytes", "prefix"), 0))
        observatory.agent.unregister(client)


def whole(values: dict[str, float], total: float) -> dict[str, float]:
    """The values, once they add up to the total."""
    return values if values and sum(values.values()) == total else {}
