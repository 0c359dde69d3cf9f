"""Where a worker is: its host and the port of its HTTP server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """One lifetime of a worker, as its scheduler describes it."""

    id: int
    name: str
    address: str
    host: str
    port: int | None
    """of its HTTP server; None: unknown, or it has none"""
    ended: datetime | None


def read_worker_place(connection: psycopg.Connection, cluster: int, worker: int) -> WorkerPlace | None:
    """None: the cluster has no such worker."""
    with connection.cursor(row_factory=class_row(WorkerPlace)) as cursor:
        return cursor.execute(
            """SELECT id, name, address, host, ended,
                   CASE WHEN detail->>'dashboard' ~ '^[1-9][0-9]{0,4}$'
                       THEN (detail->>'dashboard')::integer END AS port
               FROM worker WHERE cluster_id = %s AND id = %s""",
            [cluster, worker],
        ).fetchone()
