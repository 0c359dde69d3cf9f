"""Celery tasks of the store."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from celery import shared_task
from django.conf import settings

from observatory.store.archive.errors import ArchiveError
from observatory.store.connection import connect
from observatory.store.engines import choose
from observatory.store.schema.time_series import time_series

log = logging.getLogger(__name__)

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


@shared_task  # type: ignore[untyped-decorator]
def archive_clusters() -> None:
    """Archive clusters that ended, for a while: the next round goes on."""
    if not settings.ARCHIVE:
        return
    # imports pyarrow: 28 MB and 0.3 s, which each process would spend
    from observatory.store.archive.rounds.round import archive_round

    try:
        done = archive_round()
    except ArchiveError as error:
        log.warning("nothing is archived, will try again: %s", error)
        return
    if done.files:
        log.info("archived %d rows in %d files, %d bytes", done.rows, done.files, done.bytes)
    if done.removed:
        log.info("removed %d archived rows from their tables", done.removed)
