"""The interface of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Protocol

import psycopg

from observatory.store.maintenance.retained_windows import RetainedWindow
from observatory.store.schema.time_series import TimeSeries


class Engine(Protocol):
    """Makes and partitions the time-series tables. Queries are the same with every engine."""

    name: str

    def create(self, connection: psycopg.Connection, table: TimeSeries) -> None:
        """Makes the table and its indexes."""

    def missing(self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]) -> set[date]:
        """Those of the days (UTC) that have no partition or chunk yet."""

    def prepare(self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]) -> None:
        """Makes the partitions of these days (UTC). Call it outside of a transaction."""

    def partitions(
        self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]
    ) -> list[str]:
        """The names of the partitions or chunks of these days (UTC), as SQL writes them."""

    def forget(self) -> None:
        """Forgets what is cached of the database, after another process changed it."""

    def drop_before(
        self,
        connection: psycopg.Connection,
        table: TimeSeries,
        time: datetime,
        kept: Sequence[RetainedWindow],
    ) -> int:
        """Drops the days that end before `time`, except for the rows in the retained windows.

        Returns the number of partitions or chunks that were dropped, or rewritten with the retained rows.
        """

    def allow_deletes(self, connection: psycopg.Connection) -> None:
        """Lets the current transaction delete any number of old rows."""

    def estimate(self, connection: psycopg.Connection, table: TimeSeries) -> int:
        """An estimate of the number of rows, from statistics."""
