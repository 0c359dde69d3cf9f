"""A batch is stored whole and once, whatever happens to the connection of its writer."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from tests.store.ingest.test_writer import SPANS

Rows = Callable[..., list[tuple[Any, ...]]]


def test_a_batch_that_fails_leaves_nothing_and_its_ids_are_not_used_again(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    batch = Batch.of(cluster, spans=[make.span(now)], samples=[make.sample(now)])
    connection.execute(
        f"ALTER TABLE extent ADD CONSTRAINT closed CHECK (cluster_id <> {cluster} OR sequence = 0)"
    )
    try:
        with pytest.raises(psycopg.errors.CheckViolation):
            writer.write(batch)
    finally:
        connection.execute("ALTER TABLE extent DROP CONSTRAINT closed")
    for table in ("worker", "lane", "prefix", "task_group", "typename", "series", "span", "sample", "extent"):
        assert rows(f"SELECT count(*) FROM {table} WHERE cluster_id = %s", cluster) == [(0,)], table
    writer.write(batch)
    assert len(rows(SPANS, cluster)) == 1
    assert rows(
        "SELECT count(*) FROM sample JOIN series ON series.id = series_id WHERE sample.cluster_id = %s",
        cluster,
    ) == [(1,)]


def _backend(writer: Writer) -> int:
    assert writer._connection is not None
    return writer._connection.info.backend_pid


def test_a_connection_that_broke_is_made_again(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    writer.write(Batch.of(cluster, spans=[make.span(now)]))
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [_backend(writer)])
    writer.write(Batch.of(cluster, spans=[make.span(now + 1, key="('inc-0a1b', 1)")]))
    assert len(rows(SPANS, cluster)) == 2


def test_a_connection_that_breaks_within_a_batch_stores_the_batch_once(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    writer.write(Batch.of(cluster, spans=[make.span(now)]))
    batch = Batch.of(
        cluster, spans=[make.span(now + 1 + index / 100, prefix=f"p{index}") for index in range(100)]
    )
    with connection.transaction():
        # the writer has begun its transaction and waits for this lock when its connection is cut
        connection.execute("SELECT 1 FROM extent WHERE cluster_id = %s FOR UPDATE", [cluster])
        thread = threading.Thread(target=writer.write, args=[batch])
        backend = _backend(writer)
        thread.start()
        _wait_until_blocked(connection, backend)
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
    thread.join(timeout=120)
    assert not thread.is_alive()
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(101,)]
    assert rows("SELECT spans FROM extent WHERE cluster_id = %s", cluster) == [(101,)]


def _wait_until_blocked(connection: psycopg.Connection, backend: int) -> None:
    for _ in range(200):
        if connection.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [backend]).fetchone() == (
            True,
        ):
            return
        time.sleep(0.05)
    raise AssertionError("the writer never waited")


def test_a_batch_whose_commit_was_not_answered_is_stored_once(
    writer: Writer,
    rows: Rows,
    cluster: int,
    now: float,
    make: Any,
    connection: psycopg.Connection,
    slow_commits: None,
) -> None:
    writer.write(Batch.of(cluster, spans=[make.span(now)]))
    backend, assured = _backend(writer), writer._connection
    assert assured is not None
    thread = threading.Thread(target=writer.write, args=[Batch.of(cluster, spans=[make.span(now + 1)])])
    thread.start()
    for _ in range(200):
        query = "SELECT query = 'COMMIT' AND wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = %s"
        if rows(query, backend) == [(True,)]:
            break
        time.sleep(0.01)
    else:
        raise AssertionError("the writer never came to its commit")
    with socket.socket(fileno=os.dup(assured.fileno())) as broken:
        broken.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=120)
    assert not thread.is_alive()
    # the server had gone on and committed it
    assert _backend(writer) != backend
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(2,)]
    assert rows("SELECT spans FROM extent WHERE cluster_id = %s", cluster) == [(2,)]
