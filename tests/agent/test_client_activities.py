"""What Dask's client does while a run is open is timed, and nothing else changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from threading import Barrier, Thread
from typing import Any

import dask.base
import pytest
from dask import delayed
from distributed import ActorFuture, Client, LocalCluster, as_completed

import observatory
import observatory.agent
from observatory.agent.client_activities import Activities, unwatch, watch
from observatory.agent.submitting_runs import SubmittingRun
from observatory.wire.client_code.runs import MOST_ACTIVITIES
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server


class FakeClient:
    def _send_to_scheduler(self, message: object) -> None:
        """Sends."""

    def _graph_to_futures(self, graph: str, keys: int = 0) -> str:
        """Packs."""
        if graph == "bad":
            raise ValueError(graph)
        time.sleep(0.05)
        return graph * keys

    async def _gather_remote(self) -> str:
        await asyncio.sleep(0.05)
        return "result"

    def sync(self, function: Callable[..., Any], *args: Any) -> Any:
        """Waits."""
        return function(*args)


def names(found: Activities) -> list[str]:
    return [activity for activity, _, _ in found.since(0.0)[1:]]


def test_what_the_client_does_in_the_run_is_timed() -> None:
    client = FakeClient()
    began = time.monotonic()
    found = watch(client)
    assert client._graph_to_futures("ab", keys=2) == "abab"
    assert asyncio.run(client._gather_remote()) == "result"
    unwatch(found)
    ended = time.monotonic() - began
    client._graph_to_futures("ab")
    (whole, *all_), (first, *sent), (second, *gathered) = found.since(began)
    assert (whole, first, second) == ("code", "sending", "gathering")
    assert all_[0] == 0.0
    assert all_[1] >= gathered[1]
    assert 0 <= sent[0] < sent[1] - 0.04 < gathered[0] < gathered[1] - 0.04 < ended


def test_waiting_in_calls_of_dask_is_timed() -> None:
    client = FakeClient()
    found = watch(client)
    client.sync(time.sleep, 0.05)
    unwatch(found)
    _, (activity, start, stop) = found.since(0.0)
    assert activity == "waiting"
    assert stop - start >= 0.05


def test_waiting_for_the_method_of_an_actor_is_timed_as_that() -> None:
    class Sleeper:
        def sleep(self) -> str:
            time.sleep(0.05)
            return "slept"

    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        actor: Any = client.submit(Sleeper, actor=True).result()
        found = watch(client)
        assert actor.sleep().result() == "slept"
        unwatch(found)
        assert actor.sleep().result() == "slept"
    _, (activity, start, stop) = found.since(0.0)
    assert activity == "actor"
    assert stop - start >= 0.05


def test_what_an_asynchronous_client_will_wait_for_is_not_timed() -> None:
    client = FakeClient()
    found = watch(client)
    asyncio.run(client.sync(asyncio.sleep, 0))
    unwatch(found)
    assert names(found) == []


def test_the_clients_functions_are_its_own_again_after_the_last_run() -> None:
    client, original = FakeClient(), dask.base.collections_to_expr
    outer, inner = watch(client), watch(client)
    assert dask.base.collections_to_expr is not original
    unwatch(outer)
    client._graph_to_futures("ab")
    assert (names(outer), names(inner)) == ([], ["sending"])
    unwatch(inner)
    assert vars(client) == {}
    assert dask.base.collections_to_expr is original


def test_errors_of_the_client_are_raised_as_they_are_and_end_its_activity() -> None:
    client = FakeClient()
    found = watch(client)
    with pytest.raises(ValueError, match="bad"):
        client._graph_to_futures("bad")
    unwatch(found)
    assert names(found) == ["sending"]


def test_functions_that_others_wrapped_meanwhile_stay_wrapped() -> None:
    client: Any = FakeClient()
    found = watch(client)
    inner = client._graph_to_futures
    client._graph_to_futures = lambda graph: f"<{inner(graph, 1)}>"
    unwatch(found)
    assert client._graph_to_futures("ab") == "<ab>"
    assert names(found) == []


def test_other_clients_are_not_timed() -> None:
    client, other = FakeClient(), FakeClient()
    found = watch(client)
    other._graph_to_futures("ab")
    unwatch(found)
    assert names(found) == []


def test_clients_of_other_versions_are_timed_as_far_as_they_can_be() -> None:
    found = watch(object())
    unwatch(found)
    assert names(found) == []


def test_times_that_are_close_to_each_other_become_one() -> None:
    found = Activities()
    for place in range(10):
        found.add("sending", place * 0.0015, place * 0.0015 + 0.001)
    found.add("gathering", 0.02, 0.03)
    found.add("sending", 0.04, 0.05)
    assert found.since(0.0)[1:] == [
        ("sending", 0.0, 0.0145),
        ("gathering", 0.02, 0.03),
        ("sending", 0.04, 0.05),
    ]


def test_after_many_times_what_the_client_does_is_not_recorded_any_more() -> None:
    found = Activities()
    for place in range(2 * MOST_ACTIVITIES):
        found.add("sending", place, place + 0.5)
    whole, *others = found.since(0.0)
    assert whole == ("code", 0.0, MOST_ACTIVITIES - 1)
    assert others == [("sending", place, place + 0.5) for place in range(MOST_ACTIVITIES - 1)]


def test_clients_of_several_threads_can_be_timed_at_once() -> None:
    client = FakeClient()
    found = watch(client)
    threads = [Thread(target=client._graph_to_futures, args=("ab",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    unwatch(found)
    assert set(names(found)) == {"sending"}


def test_what_a_client_does_in_a_thread_is_of_the_threads_run() -> None:
    client, found = FakeClient(), {}
    both = Barrier(2, timeout=60)

    def work(name: str, graphs: int) -> None:
        run = SubmittingRun(client, name)
        run.activities = found[name] = watch(client)
        run.enter()
        both.wait()
        for _ in range(graphs):
            client._graph_to_futures("ab")
        both.wait()
        run.leave()

    threads = [Thread(target=work, args=of) for of in (("idle", 0), ("busy", 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for run in found.values():
        unwatch(run)
    assert (names(found["idle"]), names(found["busy"])) == ([], ["sending"])


@pytest.fixture
def received() -> Iterator[FakeServer]:
    with fake_server() as received:
        yield received


def test_a_run_on_a_real_cluster_has_what_its_client_did(received: FakeServer, tmp_path: Any) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
        ) as cluster,
        Client(cluster) as client,
    ):
        observatory.agent.register(
            client, url=received.url, token=TOKEN, spool_directory=str(tmp_path), flush_interval=0.1
        )
        with observatory.run("etl"):
            assert delayed(sum)([1, 2]).compute() == 3
            time.sleep(0.3)
            assert client.gather(client.map(abs, [-1, -2])) == [1, 2]
            assert [one.result() for one in as_completed([client.submit(time.sleep, 0.4)])] == [None]
        assert not {"_graph_to_futures", "sync"} & vars(client).keys()
        assert not hasattr(as_completed.__next__, "__wrapped__")
        assert not hasattr(ActorFuture.result, "__wrapped__")
        eventually(lambda: len(received.rows["client_activity"]) >= 6)
        eventually(lambda: len(received.rows["run"]) == 2)
        rows, [_, ended] = received.rows["client_activity"], received.rows["run"]
    assert {row["run"] for row in rows} == {ended["run"]}
    [whole] = [row for row in rows if row["activity"] == "code"]
    assert whole["stop"] == pytest.approx(ended["time"], abs=5)
    assert abs(whole["start"] - ended["start"]) < 5
    others = [row["activity"] for row in rows if row["activity"] not in ("code", "waiting")]
    assert others[:3] == ["optimizing", "sending", "gathering"]
    assert any(row["stop"] - row["start"] > 0.3 for row in rows if row["activity"] == "waiting")
    assert all(whole["start"] <= row["start"] <= row["stop"] <= whole["stop"] for row in rows)
    pauses = [later["start"] - earlier["stop"] for earlier, later in pairwise(rows[1:])]
    assert max(pauses) > 0.25  # it slept


def test_the_scheduler_takes_nothing_but_activities(received: FakeServer, tmp_path: Any) -> None:
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None, protocol="tcp") as cluster,
        Client(cluster) as client,
    ):
        observatory.agent.register(
            client, url=received.url, token=TOKEN, spool_directory=str(tmp_path), flush_interval=0.1
        )
        scheduler: Any = client.scheduler
        hostile = [
            ["code", 0.0, 10.0],
            ["sending", 0.25, 0.5],
            ["sending", 0.5, 0.25],
            ["sending", -1.0, 0.25],
            ["sending", 0.0, float("nan")],
            ["sending", 0.0, "x"],
            ["dancing", 0.0, 0.5],
            ["sending", 0.0],
            [["sending"], 0.0, 0.5],
            5,
            ["gathering", 0.5, 1e9],
        ]
        for place, activities in enumerate([hostile, "text", [["sending", 0.0, 0.5]] * 10_000]):
            message = {"run": f"{place}" * 32, "outcome": "finished", "seconds": 10.0, "client": "c"}
            answer = client.sync(
                scheduler.observatory_run,
                description={"activities": activities},
                exception_type="",
                **message,
            )
            assert answer["status"] == "OK"
        eventually(lambda: len(received.rows["client_activity"]) >= 3 + MOST_ACTIVITIES)
        rows = [row for row in received.rows["client_activity"] if row["run"] == "0" * 32]
        time.sleep(0.3)
    assert len(received.rows["client_activity"]) == 3 + MOST_ACTIVITIES
    assert [row["activity"] for row in rows] == ["code", "sending", "gathering"]
    assert rows[1]["stop"] - rows[1]["start"] == pytest.approx(0.25, abs=1e-5)
    assert rows[2]["stop"] >= rows[0]["stop"]
