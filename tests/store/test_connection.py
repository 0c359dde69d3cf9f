from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime

import psycopg

from observatory.store.connection import (
    MAXIMUM_BUILDERS,
    MAXIMUM_READERS,
    build_connection,
    connect,
    read_connection,
)


def test_the_pool_of_readers_recovers_when_all_its_connections_broke(connection: psycopg.Connection) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(read_connection()) for _ in range(MAXIMUM_READERS)]
        backends = [reader.info.backend_pid for reader in readers]
    assert len(set(backends)) == MAXIMUM_READERS
    for backend in backends:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
    for _ in range(3):
        with read_connection() as reader:
            assert reader.info.backend_pid not in backends
            assert reader.execute("SHOW timezone").fetchone() == ("UTC",)


def test_builds_take_no_connection_of_the_readers_and_no_further_core(
    connection: psycopg.Connection,
) -> None:
    with ExitStack() as stack:
        builders = [stack.enter_context(build_connection()) for _ in range(MAXIMUM_BUILDERS)]
        for builder in builders:
            assert builder.execute("SHOW max_parallel_workers_per_gather").fetchone() == ("0",)
        readers = [stack.enter_context(read_connection()) for _ in range(MAXIMUM_READERS)]
        for reader in readers:
            assert reader.execute("SHOW max_parallel_workers_per_gather").fetchone() == ("0",)
        assert len({one.info.backend_pid for one in (*builders, *readers)}) == len(builders) + len(readers)


def test_a_statement_that_was_executed_often_is_planned_for_each_window_of_time(
    connection: psycopg.Connection,
) -> None:
    window = "SELECT count(*) FROM span WHERE start < %s AND stop > %s"
    with read_connection() as reader, build_connection() as builder, connect() as writer:
        for each in (reader, builder, writer):
            for _ in range(20):
                each.execute(window, [datetime.now(UTC), datetime.now(UTC)])
            plans = each.execute(
                "SELECT generic_plans, custom_plans > 5 FROM pg_prepared_statements WHERE statement LIKE %s",
                ["SELECT count(*) FROM span %"],
            )
            assert plans.fetchall() == [(0, True)]
