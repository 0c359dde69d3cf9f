"""A run in which workers are restarted and others come and go: a worker is a slot, whatever its lifetimes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster

import observatory.agent
from observatory.comparison.card.schemas import RunCard
from observatory.comparison.environment import facts
from observatory.comparison.run_summary import RunWindow, summarize
from observatory.runs.models import Run
from observatory.runs.sharing.scopes import scope_of_run
from observatory.runs.summary import summary
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.what_if.answer import what_if
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.runs.recorded_runs import CLUSTER, stored_runs
from tests.support.projects import World
from tests.support.response_schemas import assert_documented

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS, THREADS, LIMIT = 2, 2, 2**30
RESTARTED, GROWN = "restarted", "grown"


def functions() -> Callable[..., Any]:
    """By value: workers can't import a module that needs Django."""

    def hold(number: int, nbytes: int) -> bytes:
        time.sleep(0.05)
        return bytes(nbytes)

    return hold


@pytest.fixture(scope="module")
def recorded() -> FakeServer:
    hold = functions()
    with fake_server() as received:
        with (
            LocalCluster(
                n_workers=WORKERS,
                threads_per_worker=THREADS,
                memory_limit=LIMIT,
                dashboard_address="127.0.0.1:0",
            ) as made,
            DaskClient(made) as client,
        ):
            observatory.agent.register(
                client, url=received.url, token=TOKEN, name=CLUSTER, flush_interval="0.5s"
            )
            with observatory.run(RESTARTED, client=client):
                client.gather(client.map(hold, range(8), nbytes=10))
                client.restart_workers(list(client.scheduler_info(n_workers=-1)["workers"]), timeout=120)
                held = client.map(hold, range(8, 16), nbytes=20 * 2**20)
                client.gather(client.map(len, held))
            del held
            with observatory.run(GROWN, client=client):
                client.gather(client.map(hold, range(16, 24), nbytes=10))
                made.scale(WORKERS + 1)
                client.wait_for_workers(WORKERS + 1, timeout=120)
                made.scale(1)
                eventually(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 1)
                client.gather(client.map(hold, range(24, 32), nbytes=10))
        return received


@pytest.fixture
def runs(transactional_db: None, world: World, recorded: FakeServer) -> Iterator[dict[str, Run]]:
    with stored_runs(recorded, world.alpha) as runs:
        yield runs


def test_workers_that_were_restarted_are_as_many_as_before(world: World, runs: dict[str, Run]) -> None:
    run = runs[RESTARTED]
    card = world.client("viewer").get(f"/api/v1/runs/{run.pk}/card").json()
    assert_documented(RunCard, card)
    assert (card["workers"], card["lifetimes"], card["most_workers"]) == (WORKERS, 2 * WORKERS, WORKERS)
    assert (card["threads"], card["memory_limit"]) == (WORKERS * THREADS, WORKERS * LIMIT)
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    assert "2 (4 lifetimes) with at most 4 threads and 2.00 GiB of memory at a time" in page
    assert "on 2 workers" in summary(run)


def test_memory_is_a_share_of_the_limits_that_there_were_at_its_peak(runs: dict[str, Run]) -> None:
    figures = runs[RESTARTED].figures
    assert figures["peak_limit"] == WORKERS * LIMIT
    assert 160 * 2**20 < figures["peak_memory"] < WORKERS * LIMIT
    assert figures["peak_spilled"] == 0


def test_threads_and_memory_of_workers_that_came_and_went_are_the_most_at_a_time(
    world: World, runs: dict[str, Run]
) -> None:
    run = runs[GROWN]
    assert run.figures["workers"] == run.figures["lifetimes"] == run.figures["most_workers"] == WORKERS + 1
    assert run.figures["threads"] == (WORKERS + 1) * THREADS
    assert run.figures["peak_limit"] in [workers * LIMIT for workers in range(1, WORKERS + 2)]
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    assert "3 with 6 threads and 3.00 GiB of memory in all" in page


def test_what_if_comparison_and_environment_count_the_same_workers(runs: dict[str, Run]) -> None:
    run = runs[RESTARTED]
    with read_connection() as connection:
        totals = summarize(connection, run).totals
        [known] = [
            value
            for (kind, name), value in facts(connection, run, RunWindow.of(run)).items()
            if (kind, name) == ("hardware", "workers")
        ]
        threads = facts(connection, run, RunWindow.of(run))["hardware", "threads of a worker"]
        predicted = what_if(connection, scope_of_run(run), 0, MAXIMUM_TIME)
    assert (totals.workers, totals.lifetimes, totals.threads) == (WORKERS, 2 * WORKERS, WORKERS * THREADS)
    assert known == str(WORKERS)
    assert threads == str(THREADS)
    assert (predicted["workers"], predicted["threads"]) == (WORKERS, THREADS)
