"""Queries of the history of one task."""

from __future__ import annotations

import psycopg
import pytest

from observatory.replay.task_history import Neighbours, ResultLocation, task_history, worker_last_minutes
from observatory.store.queries.tasks.errors import task_error
from observatory.store.queries.tasks.history import agent_coverage
from tests.support.recorded_cluster import GIB, Recorded, at

KEY = "('load-1', 1)"


@pytest.fixture
def recorded(connection: psycopg.Connection, cluster: int) -> Recorded:
    return Recorded(connection, cluster)


def test_a_tasks_history_has_all_its_records_in_order_and_no_others(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    recorded.worker("tcp://a:1", "w0")
    recorded.span(KEY, "tcp://a:1", 2, 3)
    recorded.transition(1, KEY, "released", "waiting")
    recorded.transition(1.5, KEY, "waiting", "processing", "tcp://a:1")
    recorded.transition(3.1, KEY, "processing", "memory", "tcp://a:1")
    recorded.transition(9, KEY, "memory", "released", "tcp://a:1")
    recorded.error(0.5, KEY, outcome="retried")
    recorded.task(KEY, "(0, 1)", {"retries": 1})
    recorded.dependency(KEY, "('load-1', 0)")
    recorded.dependency("('load-1', 2)", KEY)
    recorded.transition(2, "('load-1', 2)", "released", "waiting")
    history = task_history(connection, cluster, KEY)
    steps = [
        (step.transition and step.transition.finish)
        or (step.span and step.span.action)
        or (step.error and step.error.outcome)
        for step in history.steps
    ]
    assert steps == ["retried", "waiting", "processing", "compute", "memory", "released"]
    assert history.state == "released"
    assert history.result_locations == [ResultLocation("w0", at(3.1), at(9))]
    assert [(request.priority, request.annotations) for request in history.requests] == [
        ("(0, 1)", {"retries": 1})
    ]
    assert history.dependencies == Neighbours(["('load-1', 0)"], 1)
    assert history.dependents == Neighbours(["('load-1', 2)"], 1)
    assert not task_history(connection, cluster, "('load-1', 99)")


def test_a_key_with_the_same_hash_is_another_task(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    recorded.transition(1, "plumless", "released", "waiting", group="plumless")
    recorded.transition(2, "buckeroo", "released", "waiting", group="buckeroo")
    [only] = task_history(connection, cluster, "buckeroo").transitions
    assert only.time == at(2)


def test_last_minutes_are_of_the_lifetimes_that_ran_the_task_even_if_an_address_was_reused(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    first = recorded.worker("tcp://a:1", "w0", died=-10, memory={-80: 1, -40: 2, -10.5: 3.8})
    recorded.transition(-30, KEY, "waiting", "processing", "tcp://a:1")
    recorded.log(-10.2, "budget", 30, "nanny", "tcp://a:1")
    recorded.log(-80, "long ago", 30, "nanny", "tcp://a:1")
    second = recorded.worker("tcp://b:1", "w1", died=0, memory={-1: 3.9})
    recorded.transition(-9, KEY, "waiting", "processing", "tcp://b:1")
    recorded.worker("tcp://a:1", "w0", started=-8)
    addresses = ["tcp://a:1", "tcp://b:1"]
    id = recorded.error(0.01, KEY, "KilledWorker", outcome="killed", workers=addresses)
    error = task_error(connection, cluster, id)
    assert error is not None
    minutes = worker_last_minutes(
        connection, cluster, error, task_history(connection, cluster, KEY).transitions
    )
    assert [(minute.worker.id, minute.died, minute.end) for minute in minutes] == [
        (first, True, at(-10)),
        (second, True, at(0)),
    ]
    assert minutes[0].memory == [(at(-40), 2 * GIB), (at(-10.5), 3.8 * GIB)]
    assert minutes[0].peak == 3.8 * GIB
    assert [line.message for line in minutes[0].lines] == ["budget"]


def test_the_last_minute_of_a_surviving_worker_ends_with_the_error(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    recorded.worker("tcp://a:1", "w0", memory={-70: 1, -5: 2, 5: 3})
    error = task_error(connection, cluster, recorded.error(0, KEY, workers=["tcp://a:1"]))
    assert error is not None
    [minute] = worker_last_minutes(connection, cluster, error, [])
    assert (minute.died, minute.end, minute.memory) == (False, at(0), [(at(-5), 2 * GIB)])


def test_a_cluster_without_an_agent_has_no_agent_coverage(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    assert agent_coverage(connection, cluster) is None
    recorded.agent(since=-50)
    report = agent_coverage(connection, cluster)
    assert report is not None
    assert report.since == at(-50)
