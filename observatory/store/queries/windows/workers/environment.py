"""Reads what the processes of a cluster told of their machines, versions and configuration."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from observatory.store.workers.slots import SLOT
from observatory.wire.event_kinds import AGENT_STARTED, CLIENT_DESCRIBED

DESCRIBED_WITHIN = timedelta(minutes=1)
"""of a run's start, in which its client describes itself"""


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """A worker's configuration, as it reported it."""

    id: int
    slot: str
    host: str
    nthreads: int
    memory_limit: int
    """bytes; 0: none"""
    resources: dict[str, Any]
    detail: dict[str, Any]


def worker_specs(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime
) -> list[WorkerSpec]:
    """Return the workers whose lifetime overlaps the window, in order of their row on screen."""
    with connection.cursor(row_factory=class_row(WorkerSpec)) as cursor:
        return cursor.execute(
            f"""SELECT id, {SLOT} AS slot, host, nthreads, memory_limit, resources, detail FROM worker
               WHERE cluster_id = %s AND started < %s AND (ended IS NULL OR ended > %s) ORDER BY position""",
            [cluster, stop, start],
        ).fetchall()


def scheduler_detail(connection: psycopg.Connection, cluster: int, stop: datetime) -> dict[str, Any]:
    """Return what the scheduler's agent told of its process before a time; without an agent nothing."""
    return _detail(connection, cluster, AGENT_STARTED, stop)


def last_client_detail(connection: psycopg.Connection, cluster: int, stop: datetime) -> dict[str, Any]:
    """Return what the last client that opened a run before a time told of its process."""
    return _detail(connection, cluster, CLIENT_DESCRIBED, stop)


def client_detail_of_run(
    connection: psycopg.Connection, cluster: int, run: UUID, start: datetime
) -> dict[str, Any]:
    """Return what the client that opened a run at `start` told of its process; older clients told nothing.

    `run`: the client's id of it.
    """
    found = connection.execute(
        """SELECT detail FROM event
           WHERE cluster_id = %(cluster)s AND kind = %(kind)s AND time BETWEEN %(first)s AND %(last)s
               AND detail->>'run' = %(run)s LIMIT 1""",
        {
            "cluster": cluster,
            "kind": CLIENT_DESCRIBED,
            "first": start - DESCRIBED_WITHIN,
            "last": start + DESCRIBED_WITHIN,
            "run": run.hex,
        },
    ).fetchone()
    return dict(found[0]) if found else {}


def _detail(connection: psycopg.Connection, cluster: int, kind: str, stop: datetime) -> dict[str, Any]:
    found = connection.execute(
        """SELECT detail FROM event
           WHERE cluster_id = %(cluster)s AND kind = %(kind)s AND time < %(stop)s
           ORDER BY time DESC LIMIT 1""",
        {"cluster": cluster, "kind": kind, "stop": stop},
    ).fetchone()
    return dict(found[0]) if found and isinstance(found[0], dict) else {}
