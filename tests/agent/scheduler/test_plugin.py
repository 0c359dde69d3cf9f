"""The records of an agent on a real cluster, as the server receives them."""

from __future__ import annotations

import itertools
import logging
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.datasets
import pytest
from distributed import Client, LocalCluster, span, wait

import observatory.agent
from tests.agent.fake_server import TOKEN, FakeServer, fake_server


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    workers = {"n_workers": 2, "threads_per_worker": 1, "silence_logs": "CRITICAL"}
    with LocalCluster(**workers, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def received(client: Client) -> Iterator[FakeServer]:
    client.wait_for_workers(2, timeout=180)
    with fake_server() as received:
        observatory.agent.register(
            client, url=received.url, token=TOKEN, name="tests", flush_interval="100ms"
        )
        yield received
        if observatory.agent.NAME in client.cluster.scheduler.plugins:
            observatory.agent.unregister(client)
    assert received.refused == 0


def eventually(found: Callable[[], Any], seconds: float = 120) -> Any:
    deadline = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return result


def events(received: FakeServer, kind: str) -> list[dict[str, Any]]:
    return [row for row in received.rows["event"] if row["kind"] == kind]


def fail(number: int) -> None:
    raise KeyError(f"no {number}")


def fail_because_of_another(number: int) -> None:
    try:
        try:
            fail(number)
        except KeyError:
            raise ValueError("second")  # noqa: B904
    except ValueError as error:
        raise RuntimeError("third") from error


def fail_as_a_group(members: int) -> None:
    errors = []
    for number in range(members):
        try:
            fail(number)
        except KeyError as error:
            errors.append(error)
    raise ExceptionGroup(f"{members} of them", errors)  # type: ignore[name-defined,unused-ignore]


def fail_after(seconds: float) -> None:
    time.sleep(seconds)
    raise KeyError("no 2")


def exit_process(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(7)


def increment(number: int) -> int:
    return number + 1


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def sleep_a_little(number: int) -> None:
    time.sleep(0.01)


def sleep_with(data: bytes, number: int) -> int:
    time.sleep(0.05)
    return number


def test_each_attempt_of_a_failing_task_is_recorded_with_its_traceback(
    client: Client, received: FakeServer
) -> None:
    future = client.submit(fail, 1, retries=2, pure=False)
    wait(future)
    errors = eventually(lambda: received.rows["error"] if len(received.rows["error"]) == 3 else None)
    assert [(error["outcome"], error["retries"]) for error in errors] == [
        ("retried", 1),
        ("retried", 0),
        ("erred", 0),
    ]
    assert {error["key"] for error in errors} == {future.key}
    assert {error["exception_type"] for error in errors} == {"KeyError"}
    assert {error["message"] for error in errors} == {"no 1"}
    assert all("in fail" in error["traceback"] for error in errors)
    assert set(errors[-1]["workers"]) <= set(client.scheduler_info()["workers"])
    spans = eventually(lambda: [row for row in received.rows["span"] if row["key"] == future.key])
    assert [span["status"] for span in spans] == [1, 1, 1]


def test_the_exceptions_that_led_to_another_are_in_its_traceback_as_python_prints_them(
    client: Client, received: FakeServer
) -> None:
    wait(client.submit(fail_because_of_another, 3, pure=False))
    [error] = eventually(lambda: received.rows["error"])
    trace = error["traceback"]
    found = [
        "KeyError: 'no 3'\n",
        "During handling of the above exception",
        "ValueError: second\n",
        "The above exception was the direct cause",
        "in fail_because_of_another",
    ]
    places = [trace.rindex(text) for text in found]
    assert places == sorted(places)
    assert trace.count("Traceback (most recent call last)") == 3
    assert (error["exception_type"], error["message"]) == ("RuntimeError", "third")
    assert not any("causes" in row["detail"] for row in received.rows["event"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no ExceptionGroup")
def test_the_members_of_a_group_of_exceptions_follow_its_traceback_with_their_own(
    client: Client, received: FakeServer
) -> None:
    wait(client.submit(fail_as_a_group, 20, pure=False))
    [error] = eventually(lambda: received.rows["error"])
    trace = error["traceback"]
    found = [
        "in fail_as_a_group",
        "1 of 20",
        "in fail\n",
        "KeyError: 'no 0'\n",
        "15 of 20",
        "KeyError: 'no 14'\n",
    ]
    places = [trace.index(text) for text in found]
    assert places == sorted(places)
    assert "KeyError: 'no 15'" not in trace
    assert error["exception_type"] == "ExceptionGroup"


def test_tasks_that_fail_because_of_another_are_counted_not_recorded_as_errors(
    client: Client, received: FakeServer
) -> None:
    failing = client.submit(fail_after, 1.0, pure=False)
    dependents = [client.submit(increment, failing, pure=False) for _ in range(4)]
    wait(dependents)
    [error] = eventually(lambda: received.rows["error"])
    assert (error["key"], error["dependents"]) == (failing.key, 4)
    erred = [row for row in received.rows["transition"] if row["finish"] == "erred"]
    assert {row["key"] for row in erred} == {failing.key, *(future.key for future in dependents)}


def test_the_dependents_of_a_task_whose_workers_died_are_counted(
    client: Client, received: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    killed = client.submit(exit_process, 1.0, pure=False)
    dependents = [client.submit(increment, killed, pure=False) for _ in range(3)]
    last = client.submit(sum, dependents, pure=False)
    wait(last)
    [error] = eventually(lambda: received.rows["error"])
    assert (error["key"], error["outcome"], error["exception_type"]) == (killed.key, "killed", "KilledWorker")
    assert error["dependents"] == 4
    client.wait_for_workers(2, timeout=180)


class Strict(Exception):
    """Cannot be created with other arguments, so Dask replaces it when it shortens its message."""

    def __init__(self, number: int) -> None:
        super().__init__("number " + "7" * 20_000)
        self.number = number + 0


@pytest.mark.parametrize("kind", [ValueError, Strict])
def test_a_message_that_dask_shortened_starts_as_the_exceptions_own(
    client: Client, received: FakeServer, kind: type[Exception]
) -> None:
    def fail_at_length() -> None:
        raise Strict(7) if kind is Strict else kind("number " + "7" * 20_000)

    wait(client.submit(fail_at_length, pure=False))
    [error] = eventually(lambda: received.rows["error"])
    assert error["message"].startswith("number 777")
    assert error["message"].endswith("777")
    assert error["exception_type"].rpartition(".")[2] == kind.__name__


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
    assert eventually(lambda: latest(memory)) == 30 * 28
    del held
    eventually(lambda: latest(states) == 0)
    eventually(lambda: latest(memory) == 0)


def test_the_clusters_memory_is_sampled_as_often_as_its_workers(client: Client, received: FakeServer) -> None:
    held = client.submit(bytes, 5_000_000, pure=False)
    wait(held)
    series = '["observatory_cluster_memory_bytes", {"type": "managed"}'

    def reported() -> list[dict[str, Any]]:
        return [row for row in received.rows["sample"] if row["series"].startswith(series)]

    eventually(lambda: reported() and reported()[-1]["value"] >= 5_000_000)
    before = len(reported())
    eventually(lambda: len(reported()) >= before + 3)
    times = [row["time"] for row in reported()]
    assert max(after - one for one, after in itertools.pairwise(times)) < 3


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
    ids |= {event["detail"].get("shuffle", "") for event in events(received, "shuffle")} - {""}
    series = {row["series"] for row in received.rows["sample"]}
    assert [one for one in series if any(id in one for id in ids)] == []


def test_anything_logged_to_a_topic_is_an_event(client: Client, received: FakeServer) -> None:
    client.log_event("<img onerror=alert(1)>", {"number": float("nan"), "many": ["x" * 100] * 1000})
    [event] = eventually(
        lambda: [e for e in events(received, "topic") if "onerror" in e["detail"]["message"]]
    )
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


class Hostile(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def raise_hostile() -> None:
    raise Hostile("x" * 10_000_000)


def test_an_exception_that_cannot_be_shown_does_no_harm(client: Client, received: FakeServer) -> None:
    future = client.submit(raise_hostile, pure=False)
    wait(future, timeout=180)
    future.cancel()
    assert client.submit(increment, 1, pure=False).result(timeout=180) == 2
    assert eventually(lambda: [row for row in received.rows["transition"] if row["finish"] == "memory"])


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


def test_a_change_of_the_adaptive_target_is_recorded(client: Client, received: FakeServer) -> None:
    async def ask() -> None:
        await client.scheduler.adaptive_target(target_duration="1s")
        await client.scheduler.adaptive_target(target_duration="1s")

    client.sync(ask)
    [event] = eventually(lambda: events(received, "adaptive-target"))
    assert event["detail"]["workers"] == 2
    assert isinstance(event["detail"]["target"], int)


def test_a_p2p_shuffle_is_recorded_from_start_to_end_with_its_progress(
    client: Client, received: FakeServer
) -> None:
    def moved() -> list[float]:
        return [row["nbytes"] for row in received.rows["shuffle"]]

    def reported(state: str) -> list[dict[str, Any]]:
        return [event for event in events(received, "shuffle") if event["detail"].get("state") == state]

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


def test_paused_retired_and_new_workers_are_recorded(client: Client, received: FakeServer) -> None:
    cluster = client.cluster
    retired = sorted(client.scheduler_info()["workers"])[0]
    client.sync(cluster.scheduler.retire_workers, workers=[retired])
    [gone] = eventually(lambda: received.rows["gone"])
    assert (gone["address"], gone["reason"]) == (retired, "retired")
    changed = [
        event["detail"]["status"] for event in events(received, "worker-status") if event["worker"] == retired
    ]
    assert "closing_gracefully" in changed
    cluster.scale(3)
    client.wait_for_workers(2, timeout=180)
    eventually(lambda: events(received, "worker-added"))
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
