"""Tasks that have seceded take no thread of the pool, as the agents of real clusters recorded them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from distributed import Client as DaskClient
from distributed import wait

from observatory.clusters.models import Cluster
from observatory.clusters.tokens import ingest_tokens
from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.thread_times.answer import thread_times
from observatory.wire.records import Action
from tests.support.agent_batches import store_batches
from tests.support.projects import World, world
from tests.why.findings.simulated import found_in
from tests.why.findings.test_scenarios import bodies_of
from tests.why.scenarios.tasks import orchestrate, run_on

__all__ = ["world"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

Answer = dict[str, Any]


def recorded(
    world: World, work: Callable[[DaskClient], None], is_computing: bool
) -> tuple[Answer, list[Answer]]:
    """The time of threads and the findings, of two workers with two threads each."""
    _, secret = ingest_tokens.make(world.alpha, "tests", None)
    store_batches(bodies_of("seceded", work, {}, is_computing), secret)
    with read_connection() as connection:
        scope = Scope(Cluster.objects.get(name="seceded"))
        return thread_times(connection, scope, 0, MAXIMUM_TIME), found_in(connection, scope)


def recorded_seconds(prefix: str, action: Action) -> float:
    with read_connection() as connection:
        row = connection.execute(
            """SELECT sum(extract(epoch FROM stop - start))::float8 FROM span
               JOIN prefix ON prefix.id = prefix_id WHERE name = %s AND action = %s""",
            [prefix, int(action)],
        ).fetchone()
    assert row is not None
    return float(row[0] or 0)


def seconds_of(times: Answer) -> dict[str, float]:
    return {kind["kind"]: kind["seconds"] for kind in times["kinds"]}


def computed(times: Answer) -> dict[str, float]:
    return {prefix["name"]: prefix["seconds"][0] for prefix in times["prefixes"]}


def test_tasks_that_launch_tasks_and_wait_for_them_take_no_thread_meanwhile(world: World) -> None:
    def work(client: DaskClient) -> None:
        client.gather(client.map(orchestrate, range(8), seconds=0.7, pure=False))

    times, findings = recorded(world, work, is_computing=True)
    assert computed(times)["sleep"] >= 8 * 2 * 0.7
    # how long each waits for its own tasks, and for a client before, is the machine's affair
    assert recorded_seconds("orchestrate", Action.LONG_RUNNING) >= 8 * 0.7
    in_pool = recorded_seconds("orchestrate", Action.COMPUTE)
    assert computed(times)["orchestrate"] == pytest.approx(in_pool, rel=0.01, abs=0.01)
    assert "waiting-outside" not in [one["kind"] for one in findings]


def test_a_task_that_has_seceded_and_computes_keeps_threads_waiting_for_it(world: World) -> None:
    def work(client: DaskClient) -> None:
        wait(client.submit(run_on, 1, seconds=6, pure=False))

    times, findings = recorded(world, work, is_computing=False)
    assert computed(times)["run_on"] < 1
    assert seconds_of(times)["others"] > 4 * 5
    assert times["waited_for"][0]["key"].startswith("run_on-")
    # a slow machine adds some of its own
    assert findings[0]["kind"] == "few-tasks"
