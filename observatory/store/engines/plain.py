"""PostgreSQL alone: a range partition a day, made ahead and dropped when it is old."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

import psycopg
from psycopg import sql

from observatory.store.tables import TimeSeries

LOCK = 0x0B5E_0001
LOCK_TIMEOUT = "3s"
PARTITION = re.compile(r"_(\d{8})\Z")


class Plain:
    name = "plain"

    def __init__(self) -> None:
        self._prepared: set[tuple[str, date]] = set()

    def create(self, connection: psycopg.Connection, table: TimeSeries) -> None:
        connection.execute(f"CREATE TABLE {table.name} ({table.columns}) PARTITION BY RANGE ({table.time})")
        for index in table.indexes:
            connection.execute(f"CREATE INDEX ON {table.name} {index}")

    def prepare(self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]) -> None:
        missing = [day for day in days if (table.name, day) not in self._prepared]
        if not missing:
            return
        with connection.transaction():
            # one maker at a time; attaching (unlike PARTITION OF) leaves readers and writers alone
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            existing = self._partitions(connection, table)
            for day in missing:
                if day not in existing:
                    self._make(connection, table, day)
        self._prepared.update((table.name, day) for day in missing)

    def forget(self) -> None:
        self._prepared.clear()

    def drop_before(self, connection: psycopg.Connection, table: TimeSeries, time: datetime) -> int:
        dropped = 0
        for day, name in self._partitions(connection, table).items():
            if _start(day + timedelta(days=1)) > time:
                continue
            try:
                with connection.transaction():
                    connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
                    connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
                dropped += 1
            except psycopg.errors.LockNotAvailable:
                continue  # somebody reads it: the next round drops it
        self.forget()
        return dropped

    def allow_deletes(self, connection: psycopg.Connection) -> None:
        pass

    def estimate(self, connection: psycopg.Connection, table: TimeSeries) -> int:
        row = connection.execute(
            """SELECT coalesce(sum(greatest(child.reltuples, 0)), 0)::bigint
               FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid WHERE inhparent = %s::regclass""",
            [table.name],
        ).fetchone()
        return int(row[0]) if row else 0

    def _partitions(self, connection: psycopg.Connection, table: TimeSeries) -> dict[date, str]:
        rows = connection.execute(
            """SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
               WHERE inhparent = %s::regclass ORDER BY 1""",
            [table.name],
        )
        found = ((PARTITION.search(name), name) for (name,) in rows)
        return {datetime.strptime(match[1], "%Y%m%d").date(): name for match, name in found if match}

    def _make(self, connection: psycopg.Connection, table: TimeSeries, day: date) -> None:
        names = {
            "parent": sql.Identifier(table.name),
            "child": sql.Identifier(f"{table.name}_{day:%Y%m%d}"),
            "start": sql.Literal(_start(day)),
            "stop": sql.Literal(_start(day + timedelta(days=1))),
        }
        for statement in (
            "CREATE TABLE {child} (LIKE {parent} INCLUDING DEFAULTS)",
            "ALTER TABLE {parent} ATTACH PARTITION {child} FOR VALUES FROM ({start}) TO ({stop})",
        ):
            connection.execute(sql.SQL(statement).format(**names))


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
