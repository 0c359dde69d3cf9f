"""Reads the processes of workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """One lifetime of a worker."""

    id: int
    name: str
    address: str
    pid: str
    """id of the process on its host; "": not told"""
    ended: datetime | None


def worker_processes(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime
) -> list[WorkerProcess]:
    """Return the workers that lived in [start, stop), in the order in which they were first seen."""
    with connection.cursor(row_factory=class_row(WorkerProcess)) as cursor:
        return cursor.execute(
            """SELECT id, name, address, coalesce(detail->>'pid', '') AS pid, ended
               FROM worker
               WHERE cluster_id = %s AND started < %s AND (ended IS NULL OR ended >= %s)
               ORDER BY position, id""",
            [cluster, stop, start],
        ).fetchall()
