"""A run with retries, failures and lost results: its card, progress and errors count the same tasks."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from distributed import Client as DaskClient
from distributed import Event, LocalCluster, Lock, wait

import observatory.agent
from observatory.comparison.card.schemas import RunCard
from observatory.runs.models import Run
from observatory.runs.refresh import refresh_figures
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.runs.recorded_runs import CLUSTER, stored_runs
from tests.support.projects import World
from tests.support.response_schemas import assert_documented

pytestmark = pytest.mark.django_db(transaction=True)

WORKED, FAILED, RETRIED, NEEDING, LOST = 20, 4, 3, 6, 5


def functions() -> tuple[Callable[..., Any], ...]:
    """By value: workers can't import a module that needs Django."""

    def work(number: int, failing: int) -> int:
        time.sleep(0.02)
        if number < failing:
            raise ValueError(f"no {number}")
        return number

    def fail_first(number: int) -> int:
        with Lock(f"attempt-{number}"):
            attempted = Event(f"attempted-{number}")
            if not attempted.is_set():
                attempted.set()
                raise ValueError("at first")
        return number

    def kept(number: int) -> bytes:
        return bytes(1000 + number)

    return work, fail_first, kept


@pytest.fixture(scope="module")
def recorded() -> tuple[FakeServer, Counter[str]]:
    work, fail_first, kept = functions()
    with fake_server() as received:
        with (
            LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0") as made,
            DaskClient(made) as client,
        ):
            observatory.agent.register(
                client, url=received.url, token=TOKEN, name=CLUSTER, flush_interval="0.5s"
            )
            with observatory.run("failing", client=client):
                [first, _] = sorted(client.scheduler_info(n_workers=-1)["workers"])
                lost = client.map(kept, range(LOST), workers=[first], allow_other_workers=True)
                wait(lost, 300)
                client.restart_workers([first], timeout=120)
                tasks = client.map(work, range(WORKED), failing=FAILED)
                tasks += client.map(fail_first, range(RETRIED), retries=1)
                wait(tasks, 300)
                needing = [client.submit(abs, one) for one in tasks[: 2 * NEEDING]]
                wait([*needing, *lost], 300)
                statuses = Counter(future.status for future in (*lost, *tasks, *needing))
            time.sleep(2)
        return received, statuses


@pytest.fixture
def run(transactional_db: None, world: World, recorded: tuple[FakeServer, Any]) -> Iterator[Run]:
    with stored_runs(recorded[0], world.alpha) as runs:
        yield runs["failing"]


def test_card_progress_and_errors_count_the_same_tasks(
    world: World, run: Run, recorded: tuple[FakeServer, Counter[str]]
) -> None:
    statuses = recorded[1]
    assert statuses["error"] == 2 * FAILED, "the failed ones, and what needs them"
    client = world.client("viewer")
    card = client.get(f"/api/v1/runs/{run.pk}/card").json()
    assert_documented(RunCard, card)
    assert card["progress"] == {"done": statuses["finished"], "erred": statuses["error"], "left": 0}
    assert card["errors"] == FAILED
    rows = client.get(f"/api/v1/runs/{run.pk}/timeline/state?at={run.stop.timestamp()}").json()["progress"]
    assert sum(row["done"] for row in rows) == statuses["finished"]
    assert sum(row["erred"] for row in rows) == statuses["error"]
    assert sum(row["total"] for row in rows) == statuses.total()
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert f"{statuses.total()}: {statuses['finished']} done, {statuses['error']} erred" in page
    computations = re.search(r"(\d+) computations", page)
    assert computations
    assert int(computations[1]) == card["tasks"] >= WORKED + RETRIED * 2 + LOST
    listed = client.get(
        f"/clusters/{run.cluster_id}/errors/?from={run.start.timestamp()}&to={run.stop.timestamp()}"
    )
    groups = listed.context["groups"]
    assert sum(group.count - group.retried for group in groups) == card["errors"]
    assert sum(group.retried for group in groups) == RETRIED


def test_a_running_run_says_until_when_it_was_counted(world: World, run: Run) -> None:
    client = world.client("viewer")
    assert client.get(f"/api/v1/runs/{run.pk}/card").json()["counted"] is None
    Run.objects.filter(pk=run.pk).update(stop=None, outcome=Run.Outcome.RUNNING)
    run.refresh_from_db()
    refresh_figures(run)
    card = client.get(f"/api/v1/runs/{run.pk}/card").json()
    assert_documented(RunCard, card)
    assert card["counted"] >= run.start.timestamp()
    rows = client.get(f"/api/v1/runs/{run.pk}/timeline/state?at={card['counted']}").json()["progress"]
    assert card["progress"]["done"] == sum(row["done"] for row in rows)
    assert re.search(r"at \d\d:\d\d:\d\d(\.\d+)? UTC", client.get(f"/runs/{run.pk}/").content.decode())
