"""Plain PostgreSQL: a range partition per day, made in advance and dropped when it is old."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta

import psycopg
from psycopg import sql

from observatory.store.archive.catalogue import look_again_at
from observatory.store.maintenance.retained_windows import RetainedWindow, overlaps_any
from observatory.store.schema.time_series import TimeSeries

LOCK = 0x0B5E_0001
LOCK_TIMEOUT = "3s"
LOCK_TIMEOUT_OF_NEW = "10s"
"""a batch waits for its partitions, and other batches for its writer"""
PARTITION = re.compile(r"_(\d{8})\Z")


class Plain:
    name = "plain"

    def __init__(self) -> None:
        self._prepared: set[tuple[str, date]] = set()

    def create(self, connection: psycopg.Connection, table: TimeSeries) -> None:
        connection.execute(f"CREATE TABLE {table.name} ({table.columns}) PARTITION BY RANGE ({table.time})")
        for index in table.indexes:
            connection.execute(f"CREATE INDEX ON {table.name} {index}")

    def missing(self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]) -> set[date]:
        unknown = {day for day in days if (table.name, day) not in self._prepared}
        if not unknown:
            return unknown
        existing = self._partitions(connection, table).keys()
        self._prepared.update((table.name, day) for day in unknown & existing)
        return unknown - existing

    def prepare(self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]) -> None:
        for day in sorted(self.missing(connection, table, days)):
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_OF_NEW}'")
                # one process at a time; attaching (unlike PARTITION OF) does not block readers and writers
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
                if day not in self._partitions(connection, table):
                    self._make(connection, table, day)
            self._prepared.add((table.name, day))

    def partitions(
        self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]
    ) -> list[str]:
        known = self._partitions(connection, table)
        return [known[day] for day in sorted(set(days)) if day in known]

    def forget(self) -> None:
        self._prepared.clear()

    def drop_before(
        self,
        connection: psycopg.Connection,
        table: TimeSeries,
        time: datetime,
        kept: Sequence[RetainedWindow],
    ) -> int:
        dropped = 0
        for day, name in self._partitions(connection, table).items():
            if _start(day + timedelta(days=1)) > time:
                continue
            # a span that started on this day may last into any later window
            windows = [window for window in kept if window.stop > _start(day)]
            try:
                with connection.transaction():
                    connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
                    if self._drop(connection, table, day, name, overlaps_any(table, windows)):
                        look_again_at(connection, table.name, _start(day), _start(day + timedelta(days=1)))
                        dropped += 1
            except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
                continue  # it is being read or written: the next run drops it
        self.forget()
        return dropped

    def _drop(
        self, connection: psycopg.Connection, table: TimeSeries, day: date, name: str, kept: sql.Composable
    ) -> bool:
        """Drops a partition, or rewrites it with its retained rows; False if all rows are retained."""
        names = {"old": sql.Identifier(name), "new": sql.Identifier(f"{name}_kept"), "kept": kept}
        has_kept, has_others = (
            connection.execute(sql.SQL(query).format(**names)).fetchone() == (True,)
            for query in (
                "SELECT EXISTS (SELECT FROM {old} WHERE {kept})",
                "SELECT EXISTS (SELECT FROM {old} WHERE NOT {kept})",
            )
        )
        if has_kept and not has_others:
            return False
        if not has_kept:
            connection.execute(sql.SQL("DROP TABLE {old}").format(**names))
            return True
        for statement in (
            "LOCK TABLE {old} IN SHARE MODE",
            "CREATE TABLE {new} (LIKE {old} INCLUDING DEFAULTS)",
            # in their order: tiles that are built of them stay the same
            "INSERT INTO {new} SELECT * FROM {old} WHERE {kept} ORDER BY ctid",
            "DROP TABLE {old}",
            "ALTER TABLE {new} RENAME TO {old}",
        ):
            connection.execute(sql.SQL(statement).format(**names))
        self._attach(connection, table, day)
        return True

    def allow_deletes(self, connection: psycopg.Connection) -> None:
        pass

    def estimate(self, connection: psycopg.Connection, table: TimeSeries) -> int:
        row = connection.execute(
            # reltuples is set by ANALYZE, which new and small tables never had
            """SELECT coalesce(sum(greatest(
                   child.reltuples, pg_stat_get_live_tuples(child.oid))), 0)::bigint
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
        connection.execute(
            sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING DEFAULTS)").format(
                sql.Identifier(_name(table, day)), sql.Identifier(table.name)
            )
        )
        self._attach(connection, table, day)

    def _attach(self, connection: psycopg.Connection, table: TimeSeries, day: date) -> None:
        connection.execute(
            sql.SQL("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})").format(
                sql.Identifier(table.name),
                sql.Identifier(_name(table, day)),
                _start(day),
                _start(day + timedelta(days=1)),
            )
        )


def _name(table: TimeSeries, day: date) -> str:
    return f"{table.name}_{day:%Y%m%d}"


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
