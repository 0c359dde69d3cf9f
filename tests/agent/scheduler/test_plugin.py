"""Graphs, events and workers of a real cluster, as an agent reports them."""

from __future__ import annotations

import logging
import time
from itertools import pairwise
from typing import Any

import dask
import dask.datasets
import pytest
from distributed import Client, wait

import observatory.agent
from observatory.agent.worker.transfers.shuffle_transfers import SHUFFLED
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server


def increment(number: int) -> int:
    return number + 1


def sleep_with(data: bytes, number: int) -> int:
    time.sleep(0.05)
    return number


def test_a_graph_is_recorded_with_its_edges_annotations_and_priorities(
    client: Client, received: FakeServer
) -> None:
    with dask.annotate(priority=7, retries=3):
        first = dask.delayed(increment)(1, dask_key_name="first-of-all")
    second = dask.delayed(increment)(first, dask_key_name="second-of-all")
    assert client.compute(second, optimize_graph=False).result() == 3
    eventually(lambda: received.rows["task"] and received.rows["dependency"])
    tasks = {row["key"]: row for row in received.rows["task"]}
    assert tasks["first-of-all"]["annotations"] == {"priority": 7, "retries": 3}
    assert tasks["first-of-all"]["priority"].startswith("(-7,")
    assert tasks["first-of-all"]["retries"] == 3
    [edge] = received.rows["dependency"]
    assert (edge["key"], edge["depends_on"]) == ("second-of-all", "first-of-all")
    [group] = received.rows["group_dependency"]
    assert (group["group"], group["depends_on"], group["edges"]) == ("second-of-all", "first-of-all", 1)
    [computation] = received.rows["computation"]
    assert sorted(computation["groups"]) == [["first-of-all", 1], ["second-of-all", 1]]


def test_work_stealing_is_recorded_from_request_to_confirmation(client: Client, received: FakeServer) -> None:
    first = sorted(client.scheduler_info()["workers"])[0]
    needed = client.scatter([bytes(1000 + number) for number in range(100)], workers=[first])
    futures = [client.submit(sleep_with, data, number) for number, data in enumerate(needed)]
    wait(futures)
    requests = eventually(lambda: [row for row in received.rows["steal"] if row["outcome"] == "request"])
    assert {row["victim"] for row in requests} == {first}
    assert all(row["cost"] > 0 and row["thief"] != first for row in requests)
    confirmed = {row["key"] for row in received.rows["steal"] if row["outcome"] == "confirm"}
    assert confirmed
    assert confirmed <= {row["key"] for row in requests}


def test_anything_logged_to_a_topic_is_an_event(client: Client, received: FakeServer) -> None:
    client.log_event("<img onerror=alert(1)>", {"number": float("nan"), "many": ["x" * 100] * 1000})
    [event] = eventually(lambda: [e for e in received.events("topic") if "onerror" in e["detail"]["message"]])
    assert event["detail"]["cut"] > 20_000


@pytest.mark.parametrize(
    "key",
    [
        "<img onerror=alert(1)>",
        "\x00 and \x1b",
        ("a tuple", 1, ("of", 2.5)),
        "long " * 2_000_000,
        b"bytes",
        7,
    ],
    ids=["html", "not printable", "tuple", "10 MB", "bytes", "number"],
)
def test_a_key_of_any_kind_does_no_harm(client: Client, received: FakeServer, key: Any) -> None:
    if isinstance(key, bytes | int):
        graph = {key: (increment, 1)}
        try:
            client.get(graph, key)
        except TypeError:
            pytest.skip("this version of Dask takes no such key")
    else:
        assert client.submit(increment, 1, key=key).result() == 2
    rows = eventually(lambda: [row for row in received.rows["transition"] if row["finish"] == "memory"])
    assert rows[0]["key"]
    assert len(rows[0]["key"]) <= 2_000


def test_a_failing_hook_is_logged_once_and_stops_nothing(
    client: Client, received: FakeServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = client.cluster.scheduler.plugins[observatory.agent.NAME]

    def broken(*_: Any) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(agent.sampler, "result_stored", broken)
    monkeypatch.setattr(logging.getLogger("distributed"), "propagate", True)
    with caplog.at_level("ERROR", "distributed.observatory"):
        assert client.gather(client.map(increment, range(20), pure=False)) == list(range(1, 21))
    assert agent.failures >= 20
    assert len([record for record in caplog.records if record.name == "distributed.observatory"]) == 1


def test_transitions_keep_their_order_on_a_clock_that_gives_many_the_same_time(
    client: Client, received: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("observatory.agent.scheduler.plugin.time", lambda: time.time() // 0.5 * 0.5)
    assert client.submit(increment, 1, key="on-coarse-clock").result() == 2

    def transitions() -> list[dict[str, Any]]:
        return [row for row in received.rows["transition"] if row["key"] == "on-coarse-clock"]

    eventually(lambda: any(row["finish"] == "memory" for row in transitions()))
    rows = sorted(transitions(), key=lambda row: round(row["time"] * 1e6))
    assert len({round(row["time"] * 1e6) for row in rows}) == len(rows) > 2
    assert all(row["finish"] == later["start"] for row, later in pairwise(rows))


def test_a_change_of_the_adaptive_target_is_recorded(client: Client, received: FakeServer) -> None:
    async def ask() -> None:
        await client.scheduler.adaptive_target(target_duration="1s")
        await client.scheduler.adaptive_target(target_duration="1s")

    client.sync(ask)
    [event] = eventually(lambda: received.events("adaptive-target"))
    assert event["detail"]["workers"] == 2
    assert isinstance(event["detail"]["target"], int)


def test_a_p2p_shuffle_is_recorded_from_start_to_end_with_its_progress(
    client: Client, received: FakeServer
) -> None:
    def moved() -> list[float]:
        return [row["nbytes"] for row in received.rows["shuffle"]]

    def reported(state: str) -> list[dict[str, Any]]:
        return [event for event in received.events("shuffle") if event["detail"].get("state") == state]

    frame = dask.datasets.timeseries("2000-01-01", "2000-02-15", partition_freq="1D", freq="10s")
    # workers tell of a shuffle in their heartbeats: one may be over before the first
    for _ in range(10):
        with dask.config.set({"dataframe.shuffle.method": "p2p"}):
            client.compute(frame.shuffle("name").x.sum()).result(120)
        time.sleep(0.5)
        if max(moved(), default=0) > 1_000_000:
            break
    ended = eventually(lambda: reported("ended"))[0]
    began = reported("began")[0]
    assert began["detail"]["workers"] == 2
    assert began["detail"]["shuffle"] == ended["detail"]["shuffle"]
    assert began["time"] < ended["time"]
    assert max(moved()) > 1_000_000


async def stop_ticks(agent: Any) -> None:
    agent.sampler._callback.stop()


def sent_by(received: FakeServer) -> list[dict[str, Any]]:
    return [row for row in received.rows["transfer"] if row["direction"] == SHUFFLED]


def test_a_shuffle_that_is_over_before_a_tick_has_its_name_its_begin_and_its_end(
    client: Client, received: FakeServer
) -> None:
    """Ticks are stopped, as if none came meanwhile."""
    [agent] = [plugin for name, plugin in client.cluster.scheduler.plugins.items() if "observatory" in name]
    client.sync(stop_ticks, agent)
    frame = dask.datasets.timeseries("2000-01-01", "2000-01-05", partition_freq="1D", freq="60s")
    for column in ("name", "id"):
        with dask.config.set({"dataframe.shuffle.method": "p2p"}):
            client.compute(frame.shuffle(column).x.sum()).result(120)

    def reported(state: str) -> dict[str, dict[str, Any]]:
        events = [event for event in received.events("shuffle") if event["detail"].get("state") == state]
        return {event["detail"]["shuffle"]: event for event in events}

    eventually(lambda: len(reported("ended")) == 2)
    began, ended = reported("began"), reported("ended")
    assert began.keys() == ended.keys()
    names = {event["detail"]["name"].rpartition(" by ")[2] for event in began.values()}
    assert names == {"name", "id"}
    for id, event in began.items():
        assert event["time"] < ended[id]["time"]
        assert ended[id]["detail"]["seconds"] >= ended[id]["time"] - event["time"]
    eventually(lambda: {key for row in sent_by(received) for key in row["keys"]} == began.keys())
    assert sum(row["nbytes"] for row in sent_by(received)) > 0


def test_paused_retired_and_new_workers_are_recorded(client: Client, received: FakeServer) -> None:
    cluster = client.cluster
    retired = sorted(client.scheduler_info()["workers"])[0]
    client.sync(cluster.scheduler.retire_workers, workers=[retired])
    [gone] = eventually(lambda: received.rows["gone"])
    assert (gone["address"], gone["reason"]) == (retired, "retired")
    changed = [
        event["detail"]["status"] for event in received.events("worker-status") if event["worker"] == retired
    ]
    assert "closing_gracefully" in changed
    cluster.scale(3)
    client.wait_for_workers(2, timeout=180)
    eventually(lambda: received.events("worker-added"))
    joined = {row["address"]: row for row in received.rows["worker"]}
    assert set(client.scheduler_info()["workers"]) <= set(joined)
    cluster.scale(2)
    eventually(lambda: len(client.scheduler_info()["workers"]) == 2)


def test_unregistering_leaves_the_scheduler_as_it_was(client: Client) -> None:
    scheduler = client.cluster.scheduler
    handlers = dict(scheduler.handlers), dict(scheduler.stream_handlers), set(scheduler.plugins)
    with fake_server() as received:
        observatory.agent.register(client, url=received.url, token=TOKEN)
        observatory.agent.register(client, url=received.url, token=TOKEN)
        assert client.submit(increment, 1, pure=False).result() == 2
        observatory.agent.unregister(client)
        assert any(row["finish"] == "memory" for row in received.rows["transition"])
        assert {head.agent for head in received.heads} == {received.heads[0].agent}
        sent = len(received.heads)
        assert client.submit(increment, 2, pure=False).result() == 3
        time.sleep(1.5)
        assert len(received.heads) == sent
    assert (dict(scheduler.handlers), dict(scheduler.stream_handlers), set(scheduler.plugins)) == handlers
    plugins = client.run(lambda dask_worker: [name for name in dask_worker.plugins if "observatory" in name])
    assert list(plugins.values()) == [[], []]
