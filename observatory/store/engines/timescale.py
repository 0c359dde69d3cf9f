"""TimescaleDB: a hypertable with a chunk per day, compressed by its columnstore after two days."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import date, datetime

import psycopg
from psycopg import sql

from observatory.store.archive.catalogue import look_again_at
from observatory.store.maintenance.retained_windows import RetainedWindow, overlaps_any
from observatory.store.schema.time_series import TimeSeries

log = logging.getLogger(__name__)

CHUNK = "1 day"
COMPRESS_AFTER = "2 days"


class Timescale:
    name = "timescale"

    def __init__(self) -> None:
        self._known: set[tuple[str, date]] = set()
        """days that have a chunk"""

    def create(self, connection: psycopg.Connection, table: TimeSeries) -> None:
        connection.execute(f"CREATE TABLE {table.name} ({table.columns})")
        connection.execute(
            """SELECT create_hypertable(%s::regclass, by_range(%s, %s::interval),
                                        create_default_indexes => false)""",
            [table.name, table.time, CHUNK],
        )
        for index in table.indexes:
            connection.execute(f"CREATE INDEX ON {table.name} {index}")
        self._compress(connection, table)

    def missing(self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]) -> set[date]:
        unknown = {day for day in days if (table.name, day) not in self._known}
        if not unknown:
            return unknown
        rows = connection.execute(
            """SELECT day FROM unnest(%s::date[]) AS day WHERE EXISTS (
                   SELECT FROM timescaledb_information.chunks WHERE hypertable_name = %s
                   AND range_start < (day + 1)::timestamp AT TIME ZONE 'UTC'
                   AND range_end > day::timestamp AT TIME ZONE 'UTC')""",
            [sorted(unknown), table.name],
        )
        existing = {day for (day,) in rows}
        self._known.update((table.name, day) for day in existing)
        return unknown - existing

    def prepare(self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]) -> None:
        pass  # TimescaleDB makes its chunks

    def partitions(
        self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]
    ) -> list[str]:
        rows = [
            row
            for day in sorted(set(days))
            for row in connection.execute(
                "SELECT show_chunks(%s::regclass, %s::date + 1, %s::date)::text", [table.name, day, day]
            )
        ]
        return list(dict.fromkeys(name for (name,) in rows))

    def forget(self) -> None:
        self._known.clear()

    def drop_before(
        self,
        connection: psycopg.Connection,
        table: TimeSeries,
        time: datetime,
        kept: Sequence[RetainedWindow],
    ) -> int:
        chunks = connection.execute(
            """SELECT range_start, range_end FROM timescaledb_information.chunks
               WHERE hypertable_name = %s AND range_end <= %s ORDER BY range_start""",
            [table.name, time],
        ).fetchall()
        dropped = 0
        for start, stop in chunks:
            # a span that started in this chunk may last into any later window
            windows = [window for window in kept if window.stop > start]
            with connection.transaction():
                if self._drop(connection, table, start, stop, overlaps_any(table, windows)):
                    look_again_at(connection, table.name, start, stop)
                    dropped += 1
        return dropped

    def _drop(
        self,
        connection: psycopg.Connection,
        table: TimeSeries,
        start: datetime,
        stop: datetime,
        kept: sql.Composable,
    ) -> bool:
        """Drops a chunk and inserts its retained rows again; False if all rows are retained."""
        names = {
            "table": sql.Identifier(table.name),
            "time": sql.Identifier(table.time),
            "start": start,
            "stop": stop,
            "kept": kept,
        }
        rows = "FROM {table} WHERE {time} >= {start} AND {time} < {stop} AND"
        has_kept, has_others = (
            connection.execute(sql.SQL(query).format(**names)).fetchone() == (True,)
            for query in (
                f"SELECT EXISTS (SELECT {rows} {{kept}})",
                f"SELECT EXISTS (SELECT {rows} NOT {{kept}})",
            )
        )
        if has_kept and not has_others:
            return False
        statements = ["SELECT drop_chunks({name}::regclass, older_than => {stop}, newer_than => {start})"]
        if has_kept:
            statements = [
                f"CREATE TEMPORARY TABLE aside ON COMMIT DROP AS SELECT * {rows} {{kept}}",
                *statements,
                "INSERT INTO {table} SELECT * FROM aside ORDER BY {time}",
            ]
        for statement in statements:
            connection.execute(sql.SQL(statement).format(**names, name=table.name))
        return True

    def allow_deletes(self, connection: psycopg.Connection) -> None:
        connection.execute("SET LOCAL timescaledb.max_tuples_decompressed_per_dml_transaction = 0")

    def estimate(self, connection: psycopg.Connection, table: TimeSeries) -> int:
        row = connection.execute("SELECT approximate_row_count(%s::regclass)", [table.name]).fetchone()
        return int(row[0]) if row else 0

    def _compress(self, connection: psycopg.Connection, table: TimeSeries) -> None:
        settings = sql.SQL(
            """ALTER TABLE {} SET (timescaledb.compress,
                   timescaledb.compress_segmentby = {}, timescaledb.compress_orderby = {})"""
        ).format(sql.Identifier(table.name), sql.Literal(table.segment_by), sql.Literal(table.order_by))
        try:
            with connection.transaction():
                connection.execute(settings)
                connection.execute(
                    "SELECT add_compression_policy(%s::regclass, %s::interval)", [table.name, COMPRESS_AFTER]
                )
        except psycopg.errors.DatabaseError as error:
            # the Apache build has hypertables only
            log.warning("no compression of %s: %s", table.name, error)
