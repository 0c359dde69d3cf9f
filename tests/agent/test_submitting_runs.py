"""Graphs name the runs that they are submitted in, to the agent and to nobody else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dask
import dask.array
import pytest
from dask import delayed
from distributed import Client, LocalCluster, get_client, wait

import observatory
import observatory.agent
from observatory.agent.submitting_runs import SubmittingRun, open_runs_here
from observatory.wire.client_code.runs import MOST_NESTED, RUNS_OF_GRAPH
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server


class ToPickle:
    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data


class FakeClient:
    def __init__(self) -> None:
        self.sent: list[Any] = []

    def _send_to_scheduler(self, message: Any) -> None:
        self.sent.append(message)

    def submit(self) -> Any:
        self._send_to_scheduler({"op": "update-graph", "annotations": ToPickle({"mine": 1})})
        return self.sent[-1]["annotations"].data


def runs_here() -> list[str]:
    return [run.run for run in open_runs_here()]


def opened(client: Any, name: str) -> SubmittingRun:
    run = SubmittingRun(client, name)
    run.is_read = True
    run.enter()
    return run


def test_a_graph_names_the_runs_that_are_open_where_it_is_submitted() -> None:
    client, other = FakeClient(), FakeClient()
    outer = opened(client, "outer")
    elsewhere = opened(other, "other")
    inner = opened(client, "inner")
    assert client.submit() == {"mine": 1, RUNS_OF_GRAPH: ["outer", "inner"]}
    assert other.submit() == {"mine": 1, RUNS_OF_GRAPH: ["other"]}
    inner.leave()
    assert client.submit() == {"mine": 1, RUNS_OF_GRAPH: ["outer"]}
    outer.leave()
    assert client.submit() == {"mine": 1}
    elsewhere.leave()
    assert vars(client).keys() == {"sent"}


def test_other_messages_and_odd_ones_are_sent_as_they_are() -> None:
    client: Any = FakeClient()
    run = opened(client, "run")
    odd = [{"op": "client-releases-keys"}, {}, "text", None, {"op": "update-graph"}]
    odd += [{"op": "update-graph", "annotations": None}]
    for message in odd:
        client._send_to_scheduler(message)
    run.leave()
    assert all(sent is message for sent, message in zip(client.sent, odd, strict=True))


def test_threads_have_the_runs_that_started_them_and_those_of_their_own() -> None:
    client, found = FakeClient(), {}
    ready = threading.Barrier(3, timeout=60)

    def work(name: str) -> None:
        run = opened(client, name)
        ready.wait()
        found[name] = runs_here()
        ready.wait()
        run.leave()

    start = threading.Thread.start
    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    ready.wait()
    assert runs_here() == []
    ready.wait()
    for thread in threads:
        thread.join()
    assert found == {"one": ["one"], "two": ["two"]}
    whole = opened(client, "whole")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(runs_here).result() == ["whole"]
        whole.leave()
        assert pool.submit(runs_here).result() == []
    assert threading.Thread.start is start


def test_tasks_of_an_event_loop_have_their_own_runs() -> None:
    client = FakeClient()

    async def work(name: str) -> list[str]:
        run = opened(client, name)
        await asyncio.sleep(0.05)
        found = runs_here()
        run.leave()
        return found

    async def both() -> list[list[str]]:
        return await asyncio.gather(work("one"), work("two"))

    assert asyncio.run(both()) == [["one"], ["two"]]


def test_a_run_that_is_left_elsewhere_is_no_more() -> None:
    client = FakeClient()
    run = opened(client, "run")
    thread = threading.Thread(target=run.leave)
    thread.start()
    thread.join()
    assert runs_here() == []
    assert client.submit() == {"mine": 1}


def test_an_agent_of_an_earlier_version_gets_no_names() -> None:
    client = FakeClient()
    run = opened(client, "run")
    run.is_read = False
    assert client.submit() == {"mine": 1}
    run.leave()


@pytest.fixture
def received() -> Iterator[FakeServer]:
    with fake_server() as received:
        yield received


def told(dask_scheduler: Any) -> dict[str, Any]:
    """What Dask knows of the tasks: priorities without the number of their graph."""
    tasks = dask_scheduler.tasks
    return {
        str(key): ((task.priority[0], task.priority[2:]), dict(task.annotations or {}), task.retries)
        for key, task in tasks.items()
    } | {"computations": [dict(each.annotations) for each in dask_scheduler.computations]}


def work(client: Client) -> dict[str, Any]:
    """What Dask knows of work of all kinds."""
    with dask.annotate(team="blue"):
        array = dask.array.ones((40, 40), chunks=(10, 10)).sum(axis=0).persist(optimize_graph=True)
    kept = [array, client.map(abs, range(-5, 0), retries=2), client.submit(sum, [1, 2], priority=3)]
    kept.append(client.compute(delayed(max)([client.submit(min, [5, 6]), 3], dask_key_name="max")))
    client.gather(kept[1:])
    wait(array)
    found: dict[str, Any] = client.run_on_scheduler(told)
    return found


def graphs(received: FakeServer) -> list[Any]:
    events = [row["detail"] for row in received.rows["event"] if row["kind"] == "graph-updated"]
    return [detail.get("runs", []) for detail in events]


def test_what_dask_knows_of_tasks_is_the_same_in_a_run(received: FakeServer, tmp_path: Any) -> None:
    found = []
    for is_in_run in (False, True):
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
            ) as cluster,
            Client(cluster) as client,
        ):
            observatory.agent.register(
                client, url=received.url, token=TOKEN, spool_directory=str(tmp_path), flush_interval=0.1
            )
            before = len(graphs(received))
            if is_in_run:
                with observatory.run("all kinds") as run:
                    found.append(work(client))
            else:
                found.append(work(client))
            eventually(lambda before=before: len(graphs(received)) >= before + 5)
    assert found[0] == found[1]
    assert any("team" in annotations for _, annotations, _ in list(found[1].values())[:-1])
    assert [of for of in graphs(received) if of] == [[run.id]] * (len(graphs(received)) // 2)


def test_the_agent_takes_nothing_but_ids_of_runs(received: FakeServer, tmp_path: Any) -> None:
    hostile: list[Any] = [
        ["a" * 32, "b" * 31, "'; DROP TABLE", 5, None, ["c" * 32]],
        "a" * 32,
        {"a" * 32: 1},
        ["d" * 32] * 10_000,
    ]
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=None, protocol="tcp") as cluster,
        Client(cluster) as client,
    ):
        observatory.agent.register(
            client, url=received.url, token=TOKEN, spool_directory=str(tmp_path), flush_interval=0.1
        )
        for place, value in enumerate(hostile):
            with dask.annotate(**{RUNS_OF_GRAPH: value}):
                assert client.submit(abs, -place, key=f"hostile-{place}").result() == place
        eventually(lambda: len(graphs(received)) >= len(hostile))
        assert client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.status.name) == "running"
    assert graphs(received) == [["a" * 32], [], [], ["d" * 32] * MOST_NESTED]


def test_what_a_task_submits_in_a_clients_process_is_of_no_client(
    received: FakeServer, tmp_path: Any
) -> None:
    """There `get_client` is the newest client of the process, whoever's the task is."""

    def submit_more() -> int:
        return int(get_client().submit(abs, -3).result())

    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as ours,
        Client(cluster) as theirs,
    ):
        observatory.agent.register(
            ours, url=received.url, token=TOKEN, spool_directory=str(tmp_path), flush_interval=0.1
        )
        with observatory.run("theirs", client=theirs):
            assert theirs.submit(abs, -4).result() == 4
            with observatory.run("ours", client=ours) as run:
                assert ours.submit(submit_more).result() == 3
        eventually(lambda: len(received.rows["computation"]) >= 3)
        clients = [row["client"] for row in received.rows["computation"]]
    assert clients == [theirs.id, ours.id, ""]
    assert graphs(received)[1:] == [[run.id], []]
