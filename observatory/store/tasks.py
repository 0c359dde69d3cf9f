"""Celery tasks of the store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from celery import shared_task

from observatory.store.connection import connect
from observatory.store.engines import choose
from observatory.store.schema.time_series import time_series

DAYS_AHEAD = 3


@shared_task  # type: ignore[untyped-decorator]
def make_partitions() -> None:
    """Create the partitions of today and the next days, so that no batch waits for one."""
    today = datetime.now(UTC).date()
    days = [today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1)]
    with connect() as connection:
        engine = choose(connection)
        for table in time_series():
            engine.prepare(connection, table, days)
