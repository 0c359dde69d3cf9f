"""Runs of one client, at the same time or one within the other: each owns what was submitted in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread
from typing import Any

import dask
import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster

import observatory.agent
from observatory.runs.models import Run
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.runs.recorded_runs import CLUSTER, stored_runs
from tests.support.projects import World

pytestmark = pytest.mark.django_db(transaction=True)

FIRST, SECOND, BEFORE, WITHIN, POOLED = 12, 20, 5, 7, 4
HOSTILE = "'; DROP TABLE run; -- <b>\u202e"


def functions() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """By value: workers can't import a module that needs Django."""

    def pause(name: str, seconds: float = 0.05) -> str:
        time.sleep(seconds)
        return name

    def fail() -> None:
        raise ValueError("of the second")

    return pause, fail


@pytest.fixture(scope="module")
def recorded() -> FakeServer:
    pause, fail = functions()
    with fake_server() as received:
        with (
            LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0") as made,
            DaskClient(made) as client,
        ):
            observatory.agent.register(
                client, url=received.url, token=TOKEN, name=CLUSTER, flush_interval="0.5s"
            )
            two_threads(client, pause, fail)
            nested(client, pause)
            within_threads(client, pause)
        return received


def two_threads(client: DaskClient, pause: Callable[..., Any], fail: Callable[..., Any]) -> None:
    """Both are open during all of the other's tasks, which are of the same group, but for the last."""
    both = Barrier(2, timeout=120)

    def work(name: str, count: int) -> None:
        with observatory.run(name, client=client):
            both.wait()
            futures = client.map(pause, [f"{name} {number}" for number in range(count)])
            # both submit this task, which is computed once
            if name == "first":
                futures.append(client.submit(pause, "shared", key="shared"))
                both.wait()
            else:
                both.wait()
                assert dask.delayed(pause)("shared", dask_key_name="shared").compute() == "shared"
                assert isinstance(client.submit(fail).exception(), ValueError)
            client.gather(futures)
            both.wait()

    threads = [Thread(target=work, args=of) for of in (("first", FIRST), ("second", SECOND))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def nested(client: DaskClient, pause: Callable[..., Any]) -> None:
    with observatory.run(HOSTILE, client=client):
        before = client.map(pause, [f"before {number}" for number in range(BEFORE)], [1.0] * BEFORE)
        with observatory.run("inner", client=client):
            client.gather(client.map(pause, [f"within {number}" for number in range(WITHIN)], priority=10))
        client.gather(before)


def within_threads(client: DaskClient, pause: Callable[..., Any]) -> None:
    def work(number: int) -> None:
        with observatory.run(f"part {number}", client=client):
            client.gather(client.map(pause, [f"part {number} {place}" for place in range(POOLED)]))

    with observatory.run("whole", client=client), ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))


@pytest.fixture
def runs(transactional_db: None, world: World, recorded: FakeServer) -> Iterator[dict[str, Run]]:
    with stored_runs(recorded, world.alpha) as runs:
        yield runs


def test_two_runs_in_threads_of_one_client_own_what_their_threads_submitted(runs: dict[str, Run]) -> None:
    first, second = runs["first"], runs["second"]
    assert first.start < second.stop
    assert second.start < first.stop
    # with the task that both submitted
    assert first.tasks == FIRST + 1
    assert (first.outcome, first.errors) == ("finished", 0)
    assert second.tasks == SECOND + 1 + 1
    assert (second.outcome, second.errors) == ("erred", 1)
    assert first.figures["other_tasks"] > 0
    assert second.figures["other_tasks"] > 0


def test_what_a_run_within_another_submitted_is_of_both(runs: dict[str, Run]) -> None:
    outer = next(run for name, run in runs.items() if name.startswith("'; DROP TABLE"))
    inner = runs["inner"]
    assert outer.tasks == BEFORE + WITHIN
    assert outer.figures["other_tasks"] == 0
    assert inner.tasks == WITHIN


def test_runs_in_threads_that_a_run_started_are_within_it(runs: dict[str, Run]) -> None:
    assert runs["whole"].tasks == 2 * POOLED
    assert [runs[f"part {number}"].tasks for number in range(2)] == [POOLED, POOLED]


def test_their_time_accounting_tells_them_apart(world: World, runs: dict[str, Run]) -> None:
    run = runs["first"]
    answer = world.client("viewer").get(f"/api/v1/runs/{run.pk}/timeline/thread-times").json()
    seconds = {kind["kind"]: kind["seconds"] for kind in answer["kinds"]}
    assert seconds["other-runs"] == pytest.approx(run.figures["other_seconds"], rel=0.05, abs=0.1)
    assert seconds["computing"] == pytest.approx(run.figures["seconds"]["compute"], rel=0.05, abs=0.1)
    assert sum(seconds.values()) == pytest.approx(run.figures["lane_seconds"], rel=0.01)
