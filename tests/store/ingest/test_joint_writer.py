"""Batches of several clusters share a transaction, and each is stored exactly once whatever happens to it."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from observatory.store.ingest.agents import AgentRefused
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.joint_writer import JointWriter
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.head import Head
from observatory.wire.layers import LAYER_OF_METRIC
from observatory.wire.records import Event
from tests.store.conftest import numbers

Rows = Callable[..., list[tuple[Any, ...]]]

SPANS = "SELECT count(*) FROM span WHERE cluster_id = %s"
COUNTED = """SELECT cluster_id, spans, (SELECT count(*) FROM span WHERE span.cluster_id = extent.cluster_id)
             FROM extent WHERE cluster_id = ANY(%s) ORDER BY cluster_id"""
VALUES = """SELECT value FROM sample JOIN series ON series.id = series_id
            WHERE sample.cluster_id = %s AND metric = 'm' ORDER BY time"""
TRANSACTIONS = "SELECT count(DISTINCT xmin::text) FROM extent WHERE cluster_id = ANY(%s)"


@pytest.fixture
def clusters(transactional_db: None) -> Iterator[list[int]]:
    found = [next(numbers) for _ in range(8)]
    yield found
    for cluster in found:
        delete_cluster(cluster)


@pytest.fixture
def writer(transactional_db: None) -> Iterator[JointWriter]:
    with JointWriter() as writer:
        yield writer


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements by which rows were sent."""
    sent: list[str] = []
    copy = psycopg.Cursor.copy

    def noted(cursor: Any, statement: str, *args: Any, **options: Any) -> Any:
        sent.append(statement)
        return copy(cursor, statement, *args, **options)

    monkeypatch.setattr(psycopg.Cursor, "copy", noted)
    return sent


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each statement that waited for PostgreSQL's answer."""
    sent: list[str] = []
    execute = psycopg.Cursor.execute

    def noted(cursor: Any, statement: Any, *args: Any, **options: Any) -> Any:
        sent.append(statement if isinstance(statement, str) else statement.as_string(None))
        return execute(cursor, statement, *args, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", noted)
    return sent


def batch(cluster: int, now: float, make: Any, count: int = 3) -> Batch:
    """Records that differ from those of other clusters."""
    return Batch.of(
        cluster,
        spans=[make.span(now + number, prefix=f"p{cluster}") for number in range(count)],
        samples=[make.sample(now + number, float(cluster + number)) for number in range(count)],
        committed=now + count,
    )


def all_stored(results: list[Committed | Exception]) -> list[Committed]:
    for result in results:
        assert isinstance(result, Committed), result
    return [result for result in results if isinstance(result, Committed)]


def test_batches_of_several_clusters_are_stored_by_one_transaction_and_one_copy_a_table(
    writer: JointWriter, rows: Rows, clusters: list[int], now: float, make: Any, copies: list[str]
) -> None:
    for second in (now, now + 10):
        copies.clear()
        committed = all_stored(writer.write_together([batch(each, second, make) for each in clusters]))
        assert [each.extent.cluster for each in committed] == clusters
        assert rows(TRANSACTIONS, clusters) == [(1,)]
        assert sorted(statement.split()[1] for statement in copies) == ["sample", "span"]
    for cluster in clusters:
        assert rows(VALUES, cluster) == [(float(cluster + number),) for number in (0, 1, 2, 0, 1, 2)]
        assert rows("SELECT name FROM prefix WHERE cluster_id = %s", cluster) == [(f"p{cluster}",)]
    assert rows(COUNTED, clusters) == [(cluster, 6, 6) for cluster in clusters]


def first_batch(cluster: int, now: float, make: Any, workers: int, metrics: list[str]) -> Batch:
    """The first of a cluster: all of its workers and series are new."""
    addresses = [f"tcp://10.0.0.{number}:4000" for number in range(workers)]
    return Batch.of(
        cluster,
        workers=[make.worker(now - 1, address) for address in addresses],
        spans=[make.span(now, worker=address) for address in addresses],
        samples=[make.sample(now, metric=metric, worker=at) for at in addresses for metric in metrics],
        committed=now + 1,
    )


def test_a_new_cluster_takes_as_many_statements_whatever_its_workers_and_series(
    writer: JointWriter, clusters: list[int], now: float, make: Any, statements: list[str]
) -> None:
    """Each answer is waited for: a thousand clusters that begin together took minutes."""
    drawn = sorted(LAYER_OF_METRIC)
    all_stored(writer.write_together([batch(each, now, make) for each in clusters[:2]]))  # the day's tables
    counts = []
    for some, workers, metrics in ((clusters[2:5], 1, drawn[:1]), (clusters[5:], 4, drawn[:40])):
        statements.clear()
        all_stored(writer.write_together([first_batch(each, now, make, workers, metrics) for each in some]))
        counts.append(len(statements))
    assert counts[0] == counts[1], statements


def test_known_clusters_take_as_many_statements_however_many_they_are(
    writer: JointWriter, clusters: list[int], now: float, make: Any, statements: list[str]
) -> None:
    all_stored(writer.write_together([batch(each, now, make) for each in clusters]))
    counts = []
    for some in (clusters[:2], clusters[2:]):
        statements.clear()
        all_stored(writer.write_together([batch(each, now + 10, make) for each in some]))
        counts.append(len(statements))
    assert counts[0] == counts[1], statements


def test_a_cluster_that_another_writer_wrote_is_read_again_and_the_others_are_not(
    writer: JointWriter, rows: Rows, clusters: list[int], now: float, make: Any, statements: list[str]
) -> None:
    """Interruptions of all late clusters are recorded by another process (collect/interruptions.py)."""
    all_stored(writer.write_together([batch(each, now, make) for each in clusters]))
    with Writer() as other:
        other.write(Batch.of(clusters[3], events=[Event(now + 5, "collector-behind", "", {})]))
    statements.clear()
    all_stored(writer.write_together([batch(each, now + 10, make) for each in clusters]))
    assert rows(TRANSACTIONS, clusters) == [(1,)]
    assert sum("FROM worker WHERE" in statement for statement in statements) <= 2, "of one cluster"
    assert [counts for _, *counts in rows(COUNTED, clusters)] == [[6, 6]] * len(clusters)
    statements.clear()
    all_stored(writer.write_together([batch(each, now + 20, make) for each in clusters]))
    assert not any("FROM worker WHERE" in statement for statement in statements)


def test_what_an_agent_reports_is_left_out_from_its_first_batch_on(
    writer: JointWriter, rows: Rows, clusters: list[int], now: float, make: Any
) -> None:
    all_stored(writer.write_together([batch(each, now, make) for each in clusters]))
    with Writer() as other:
        head = Head(uuid4().hex, 1, "Scheduler-1", "", "tcp://10.0.0.9:8786", now, now + 5, 0.0)
        other.write(Batch.of(clusters[3], head=head, spans=[make.span(now + 6)]))
    results = all_stored(writer.write_together([batch(each, now + 10, make) for each in clusters]))
    assert [result.agent_rules for result in results] == [each == clusters[3] for each in clusters]
    assert [spans for _, _, spans in rows(COUNTED, clusters)] == [6, 6, 6, 4, 6, 6, 6, 6]
    assert rows(TRANSACTIONS, clusters) == [(1,)]


def heads(clusters: list[int], since: float) -> dict[int, Head]:
    """Of an agent of each cluster, before its first batch."""
    return {
        each: Head(uuid4().hex, 0, f"Scheduler-{each}", "", "tcp://10.0.0.9:8786", since, since, since)
        for each in clusters
    }


def next_batch(cluster: int, agents: dict[int, Head], now: float, make: Any) -> Batch:
    """The next one of the cluster's agent."""
    agents[cluster] = replace(agents[cluster], sequence=agents[cluster].sequence + 1)
    return replace(batch(cluster, now, make), head=agents[cluster])


def test_batches_of_agents_share_a_transaction_and_each_number_is_stored_once(
    writer: JointWriter, rows: Rows, clusters: list[int], now: float, make: Any
) -> None:
    agents = heads(clusters, now)
    all_stored(writer.write_together([next_batch(each, agents, now, make) for each in clusters]))
    sent_again = [replace(batch(each, now, make), head=agents[each]) for each in clusters[:3]]
    new = [next_batch(each, agents, now + 10, make) for each in clusters[3:]]
    results = all_stored(writer.write_together([*sent_again, *new]))
    assert [result.already for result in results] == [True] * 3 + [False] * 5
    assert all(result.agent_rules for result in results)
    assert rows(TRANSACTIONS, clusters[:3]) == rows(TRANSACTIONS, clusters[3:]) == [(1,)]
    assert rows(COUNTED, clusters) == [
        (each, *([3, 3] if each in clusters[:3] else [6, 6])) for each in clusters
    ]


def test_known_agents_take_as_many_statements_however_many_they_are(
    writer: JointWriter, clusters: list[int], now: float, make: Any, statements: list[str]
) -> None:
    agents = heads(clusters, now)
    all_stored(writer.write_together([next_batch(each, agents, now, make) for each in clusters]))
    counts = []
    for some in (clusters[:2], clusters[2:]):
        statements.clear()
        all_stored(writer.write_together([next_batch(each, agents, now + 10, make) for each in some]))
        counts.append(len(statements))
    assert counts[0] == counts[1], statements


def test_the_first_batch_of_an_agent_replaces_what_was_scraped_also_among_others(
    writer: JointWriter, rows: Rows, clusters: list[int], now: float, make: Any
) -> None:
    scraped, *others = clusters
    all_stored(writer.write_together([batch(scraped, now, make)]))
    agents = heads(clusters, now)
    all_stored(writer.write_together([next_batch(each, agents, now, make) for each in clusters]))
    assert rows(COUNTED, [scraped, *others]) == [(each, 3, 3) for each in clusters]
    all_stored(writer.write_together([next_batch(each, agents, now + 10, make) for each in clusters]))
    assert rows(COUNTED, clusters) == [(each, 6, 6) for each in clusters]
    assert rows(TRANSACTIONS, clusters) == [(1,)]


def test_two_batches_of_a_cluster_are_stored_one_after_the_other(
    writer: JointWriter, rows: Rows, clusters: list[int], now: float, make: Any
) -> None:
    agents = heads(clusters, now)
    first, *others = clusters
    batches = [next_batch(each, agents, now, make) for each in clusters]
    all_stored(writer.write_together([*batches, next_batch(first, agents, now + 10, make)]))
    assert rows(COUNTED, clusters) == [(first, 6, 6), *((each, 3, 3) for each in others)]


def test_an_agent_that_reports_of_another_cluster_is_refused_and_the_others_are_stored(
    writer: JointWriter, rows: Rows, clusters: list[int], now: float, make: Any
) -> None:
    agents = heads(clusters, now)
    first, second, *others = clusters
    all_stored(writer.write_together([next_batch(first, agents, now, make)]))
    agents[second] = agents[first]
    *stored, refused = writer.write_together(
        [next_batch(each, agents, now + 10, make) for each in (*others, second)]
    )
    all_stored(stored)
    assert isinstance(refused, AgentRefused)
    assert rows(COUNTED, others) == [(each, 3, 3) for each in others]


def test_open_pages_get_of_each_cluster_what_they_get_of_a_batch_that_is_written_alone(
    writer: JointWriter, clusters: list[int], now: float, make: Any
) -> None:
    first, second, *_ = clusters
    [jointly, _] = all_stored(writer.write_together([batch(first, now, make), batch(second, now, make)]))
    alone = writer.write(batch(clusters[2], now, make))
    assert jointly.spans is not None
    assert alone.spans is not None
    assert jointly.spans.key.per_row() == alone.spans.key.per_row()
    assert jointly.spans.start.tolist() == alone.spans.start.tolist()
    assert len(jointly.prefixes) == len(alone.prefixes) == 1
    assert (jointly.extent.spans, jointly.extent.committed) == (alone.extent.spans, alone.extent.committed)


def test_rows_with_and_without_a_value_of_a_column_go_into_the_same_table(
    writer: JointWriter, rows: Rows, clusters: list[int], now: float, make: Any
) -> None:
    """A column without nulls is sent in another form than one with some."""
    first, second, third, *_ = clusters
    of_worker = ("worker-status", make.address, {"status": "paused"})
    of_cluster = ("restarted", "", {})

    def events(cluster: int, *described: tuple[str, str, dict[str, Any]]) -> Batch:
        found = [Event(now + number, *each) for number, each in enumerate(described)]
        return Batch.of(cluster, workers=[make.worker(now - 1)], events=found)

    all_stored(
        writer.write_together(
            [events(first, of_worker), events(second, of_cluster), events(third, of_worker, of_cluster)]
        )
    )
    query = "SELECT worker_id IS NOT NULL FROM event WHERE cluster_id = %s ORDER BY time"
    assert [rows(query, cluster) for cluster in (first, second, third)] == [
        [(True,)],
        [(False,)],
        [(True,), (False,)],
    ]


def test_a_batch_that_cannot_be_stored_does_not_take_others_with_it_and_goes_alone_until_it_can(
    writer: JointWriter,
    rows: Rows,
    clusters: list[int],
    now: float,
    make: Any,
    connection: psycopg.Connection,
) -> None:
    broken, *others = clusters
    connection.execute(f"ALTER TABLE extent ADD CONSTRAINT closed CHECK (cluster_id <> {broken})")
    try:
        waiting = batch(broken, now, make)
        refused, *stored = writer.write_together([waiting, *(batch(each, now, make) for each in others)])
        assert isinstance(refused, psycopg.errors.CheckViolation)
        all_stored(stored)
        refused, *stored = writer.write_together([waiting, *(batch(each, now + 10, make) for each in others)])
        assert isinstance(refused, psycopg.errors.CheckViolation)
        all_stored(stored)
        assert rows(TRANSACTIONS, others) == [(1,)], "the others went together"
    finally:
        connection.execute("ALTER TABLE extent DROP CONSTRAINT closed")
    all_stored(writer.write_together([waiting, batch(others[0], now + 20, make)]))
    all_stored(writer.write_together([batch(each, now + 30, make) for each in clusters]))
    assert rows(TRANSACTIONS, clusters) == [(1,)], "it goes with the others again"
    assert [counts for _, *counts in rows(COUNTED, clusters)] == [[6, 6], [12, 12]] + [[9, 9]] * 6


def test_while_the_database_is_away_one_attempt_tells_of_all_batches(
    writer: JointWriter, clusters: list[int], now: float, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[int] = []

    def away() -> psycopg.Connection:
        attempts.append(1)
        raise psycopg.OperationalError("away")

    waiting = [batch(each, now, make) for each in clusters]
    with monkeypatch.context() as outage:
        outage.setattr("observatory.store.ingest.writer.connect", away)
        results = writer.write_together(waiting)
    assert all(isinstance(result, psycopg.OperationalError) for result in results)
    assert len(attempts) <= 2
    all_stored(writer.write_together(waiting))
    all_stored(writer.write_together([batch(each, now + 10, make) for each in clusters]))


def backend_of(writer: JointWriter) -> int:
    assert writer._connection is not None
    return writer._connection.info.backend_pid


def test_a_connection_that_breaks_within_a_transaction_stores_each_batch_once(
    writer: JointWriter,
    rows: Rows,
    clusters: list[int],
    now: float,
    make: Any,
    connection: psycopg.Connection,
) -> None:
    all_stored(writer.write_together([batch(each, now, make) for each in clusters]))
    results: list[Committed | Exception] = []
    later = [batch(each, now + 10, make) for each in clusters]
    thread = threading.Thread(target=lambda: results.extend(writer.write_together(later)))
    with connection.transaction():
        connection.execute("SELECT 1 FROM extent WHERE cluster_id = %s FOR UPDATE", [clusters[4]])
        backend = backend_of(writer)
        thread.start()
        blocked = "SELECT cardinality(pg_blocking_pids(%s)) > 0"
        until(lambda: connection.execute(blocked, [backend]).fetchone() == (True,))
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
    thread.join(timeout=120)
    all_stored(results)
    assert rows(COUNTED, clusters) == [(cluster, 6, 6) for cluster in clusters]


def test_batches_whose_common_commit_was_not_answered_are_stored_once(
    writer: JointWriter, rows: Rows, clusters: list[int], now: float, make: Any, slow_commits: None
) -> None:
    clusters = clusters[:3]  # a second each
    all_stored(writer.write_together([batch(each, now, make) for each in clusters]))
    backend, assured = backend_of(writer), writer._connection
    assert assured is not None
    results: list[Committed | Exception] = []
    later = [batch(each, now + 10, make) for each in clusters]
    thread = threading.Thread(target=lambda: results.extend(writer.write_together(later)))
    thread.start()
    query = "SELECT query = 'COMMIT' AND wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = %s"
    until(lambda: rows(query, backend) == [(True,)])
    with socket.socket(fileno=os.dup(assured.fileno())) as broken:
        broken.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=120)
    committed = all_stored(results)
    # the server had gone on and committed them
    assert backend_of(writer) != backend
    assert [each.extent.spans for each in committed] == [6, 6, 6]
    assert rows(COUNTED, clusters) == [(cluster, 6, 6) for cluster in clusters]


def test_two_writers_with_the_same_clusters_in_other_orders_store_everything(
    rows: Rows, clusters: list[int], now: float, make: Any
) -> None:
    rounds = 10
    results: list[Committed | Exception] = []

    def write(order: list[int], first: float) -> None:
        with JointWriter() as writer:
            for number in range(rounds):
                some = [batch(each, first + 10 * number, make) for each in order]
                results.extend(writer.write_together(some))

    threads = [
        threading.Thread(target=write, args=arguments)
        for arguments in ((clusters, now), (clusters[::-1], now + 5))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    all_stored(results)
    assert rows(COUNTED, clusters) == [(cluster, 6 * rounds, 6 * rounds) for cluster in clusters]


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
