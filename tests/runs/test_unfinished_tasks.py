"""Runs whose tasks hang until the client gives up, are cancelled, or go on when nobody waits for them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster, get_client

import observatory.agent
from observatory.runs.models import Run, RunFindings
from observatory.why.findings.of_runs import look_at
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.runs.recorded_runs import CLUSTER, stored_runs
from tests.support.projects import World

pytestmark = pytest.mark.django_db(transaction=True)

HANG = 6.0
"""seconds after which the client gives up"""


def functions() -> tuple[Callable[..., Any], ...]:
    """By value: workers can't import a module that needs Django."""

    def load(number: int) -> int:
        time.sleep(0.2)
        return number

    def ask_a_server(number: int) -> int:
        from threading import Event

        if number == 5:
            Event().wait(60)
        time.sleep(0.2)
        return number

    def ask_for_more(number: int) -> int:
        client = get_client()
        return sum(future.result() for future in client.map(load, [100 + number, 200 + number]))

    return load, ask_a_server, ask_for_more


@pytest.fixture(scope="module")
def recorded() -> FakeServer:
    load, ask_a_server, ask_for_more = functions()
    with fake_server() as received:
        with (
            LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0") as made,
            DaskClient(made) as client,
        ):
            observatory.agent.register(
                client, url=received.url, token=TOKEN, name=CLUSTER, flush_interval="0.5s"
            )
            with contextlib.suppress(TimeoutError), observatory.run("hangs", client=client):
                asked = client.map(ask_a_server, client.map(load, range(12)))
                client.submit(sum, asked).result(timeout=HANG)
            client.restart()
            with contextlib.suppress(TimeoutError), observatory.run("nests", client=client):
                client.submit(sum, client.map(ask_for_more, range(12))).result(timeout=HANG)
            client.restart()
            with observatory.run("cancels", client=client):
                waiting = client.map(time.sleep, [4.0] * 6, pure=False)
                time.sleep(3)
                client.cancel(waiting)
                time.sleep(2)  # until the threads are free: what is cancelled goes on
            with observatory.run("leaves", client=client):
                left = client.map(time.sleep, [10.0 + number for number in range(2)])
                client.gather(client.map(load, range(100, 120)))
            time.sleep(2)
            client.cancel(left)
        return received


@pytest.fixture
def runs(transactional_db: None, world: World, recorded: FakeServer) -> Iterator[dict[str, Run]]:
    with stored_runs(recorded, world.alpha) as runs:
        yield runs


def findings(run: Run) -> list[dict[str, Any]]:
    look_at(run)
    return list(RunFindings.objects.get(run=run).all)


def test_the_task_that_hangs_is_the_first_finding_with_the_line_where_it_is(runs: dict[str, Run]) -> None:
    first = findings(runs["hangs"])[0]
    assert first["kind"] == "unfinished"
    assert first["sentence"].startswith("1 task of ask_a_server did not finish: it ran for ")
    assert "where others took 20" in first["sentence"]
    assert "It was seen in wait (" in first["sentence"]
    assert f", called by ask_a_server ({__file__}:" in first["sentence"]
    assert first["wall_seconds"] == pytest.approx(HANG, abs=2.5)


def test_it_names_the_task(world: World, runs: dict[str, Run]) -> None:
    url = f"/api/v1/runs/{runs['hangs'].pk}/timeline/findings"
    first = world.client("viewer").get(url).json()["findings"][0]
    [task] = first["tasks"]
    assert task["key"].startswith("ask_a_server-")
    assert task["stop"] - task["start"] == pytest.approx(HANG, abs=2.5)


def test_the_threads_and_the_path_say_so_too(world: World, runs: dict[str, Run]) -> None:
    for answer in ("thread-times", "critical-path"):
        url = f"/api/v1/runs/{runs['hangs'].pk}/timeline/{answer}"
        kinds = {kind["kind"]: kind for kind in world.client("viewer").get(url).json()["kinds"]}
        assert kinds["unfinished"]["title"] == "not finished"
        assert kinds["unfinished"]["seconds"] > HANG / 2
    answer = world.client("viewer").get(url).json()
    [piece] = [piece for piece in answer["pieces"] if piece["kind"] == "unfinished"]
    assert piece["key"].startswith("ask_a_server-")


def test_tasks_that_keep_the_threads_that_they_wait_for_are_told_to_secede(
    world: World, runs: dict[str, Run]
) -> None:
    url = f"/api/v1/runs/{runs['nests'].pk}/timeline/findings"
    first = world.client("viewer").get(url).json()["findings"][0]
    assert first["sentence"].startswith("4 tasks of ask_for_more did not finish: the longest ran for ")
    assert "worker_client()" in first["advice"]


def test_tasks_that_were_cancelled_are_a_finding(runs: dict[str, Run]) -> None:
    [found] = [one for one in findings(runs["cancels"]) if one["kind"] == "unfinished"]
    assert found["sentence"].startswith("4 tasks of sleep were cancelled: the longest ran for ")
    assert found["thread_seconds"] == pytest.approx(4 * 3, rel=0.2)


def test_tasks_that_a_finished_run_did_not_wait_for_are_none(runs: dict[str, Run]) -> None:
    assert runs["leaves"].outcome == Run.Outcome.FINISHED
    assert [one for one in findings(runs["leaves"]) if one["kind"] == "unfinished"] == []
