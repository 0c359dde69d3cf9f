"""What Celery does for the store: partitions ahead of time, retention."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from celery import shared_task
from django.db import connection as django_connection

from observatory.store.connection import connect
from observatory.store.engines import choose
from observatory.store.retention import delete_cluster, retain
from observatory.store.tables import TIME_SERIES

log = logging.getLogger(__name__)

DAYS_AHEAD = 3
DEFAULT_DAYS = 30
"""kept where there is no project yet"""


@shared_task  # type: ignore[untyped-decorator]
def make_partitions() -> None:
    """Makes the partitions of today and the days to come, so that no batch waits for one."""
    today = datetime.now(UTC).date()
    days = [today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1)]
    with connect() as connection:
        engine = choose(connection)
        for table in TIME_SERIES:
            engine.prepare(connection, table, days)


@shared_task  # type: ignore[untyped-decorator]
def enforce_retention() -> None:
    """Removes what is older than its project keeps it, and what belongs to clusters that are deleted."""
    with django_connection.cursor() as cursor:
        cursor.execute(
            """SELECT clusters_cluster.id, retention_days
               FROM clusters_cluster JOIN clusters_project ON clusters_project.id = project_id"""
        )
        days = dict(cursor.fetchall())
        cursor.execute("SELECT max(retention_days) FROM clusters_project")
        longest = cursor.fetchone()[0] or DEFAULT_DAYS
        # one statement: a cluster is there before its first record
        cursor.execute(
            "SELECT cluster_id FROM extent WHERE cluster_id NOT IN (SELECT id FROM clusters_cluster)"
        )
        orphans = [cluster for (cluster,) in cursor.fetchall()]
    for cluster in orphans:
        delete_cluster(cluster)
    retained = retain(days, longest, datetime.now(UTC))
    if retained.dropped or retained.deleted:
        log.info("retention dropped %d partitions and %d rows", retained.dropped, retained.deleted)
