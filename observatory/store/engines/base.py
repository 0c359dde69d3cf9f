"""What an engine does for the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Protocol

import psycopg

from observatory.store.maintenance.retained_windows import Window
from observatory.store.schema.time_series import TimeSeries


class Engine(Protocol):
    """Keeps the time-series tables; queries are the same on all of them."""

    name: str

    def create(self, connection: psycopg.Connection, table: TimeSeries) -> None:
        """Makes the table and its indexes."""

    def prepare(self, connection: psycopg.Connection, table: TimeSeries, days: Iterable[date]) -> None:
        """Makes room for records of these days (UTC). Call it outside of a transaction."""

    def forget(self) -> None:
        """Drops what is remembered of the database: somebody else changed it."""

    def drop_before(
        self, connection: psycopg.Connection, table: TimeSeries, time: datetime, kept: Sequence[Window]
    ) -> int:
        """Drops the days that end before `time`, but for the rows in the windows that are kept.

        Returns how many partitions or chunks went, or were made anew of what is kept of them.
        """

    def allow_deletes(self, connection: psycopg.Connection) -> None:
        """Lets the transaction at hand delete any number of old rows."""

    def estimate(self, connection: psycopg.Connection, table: TimeSeries) -> int:
        """About how many rows the table holds, cheaply."""
