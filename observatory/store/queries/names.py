"""Finds clusters by the names in them: prefixes, groups and workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

from observatory.store.connection import statement_timeout


@dataclass(frozen=True, slots=True)
class PrefixName:
    """A prefix, in the first of the clusters that have it."""

    id: int
    cluster: int
    name: str
    color: str
    clusters: int
    """number of clusters that have it"""


@dataclass(frozen=True, slots=True)
class WorkerName:
    """One lifetime of a worker."""

    id: int
    cluster: int
    name: str
    address: str
    host: str
    started: datetime
    ended: datetime | None


def prefixes_with(
    connection: psycopg.Connection, clusters: Sequence[int], text: str, limit: int
) -> list[PrefixName]:
    """Return the prefixes whose name contains the text, in the order of the clusters; case-insensitive."""
    with connection.cursor(row_factory=class_row(PrefixName)) as cursor:
        return cursor.execute(
            """WITH found AS (
                   SELECT prefix.id, cluster_id, name, color, place,
                       row_number() OVER (PARTITION BY name ORDER BY place) AS number,
                       count(*) OVER (PARTITION BY name) AS clusters
                   FROM unnest(%s::int[]) WITH ORDINALITY AS wanted(cluster, place)
                   JOIN prefix ON cluster_id = cluster
                   WHERE strpos(lower(name), lower(%s)) > 0)
               SELECT id, cluster_id AS cluster, name, color, clusters FROM found
               WHERE number = 1 ORDER BY place, name LIMIT %s""",
            [list(clusters), text, limit],
        ).fetchall()


def workers_with(
    connection: psycopg.Connection, clusters: Sequence[int], text: str, limit: int
) -> list[WorkerName]:
    """Return the newest workers whose name, address or host contains the text; case-insensitive."""
    with connection.cursor(row_factory=class_row(WorkerName)) as cursor:
        return cursor.execute(
            """SELECT id, cluster_id AS cluster, name, address, host, started, ended FROM worker
               WHERE cluster_id = ANY(%s)
                   AND strpos(lower(concat_ws(U&'\\0001', name, address, host)), lower(%s)) > 0
               ORDER BY started DESC, id DESC LIMIT %s""",
            [list(clusters), text, limit],
        ).fetchall()


def clusters_with_group(
    connection: psycopg.Connection, clusters: Sequence[int], text: str, groups: Sequence[str], timeout: float
) -> set[int]:
    """Return the clusters with a group whose name contains the text, or that is one of `groups`.

    Those with one of `groups` alone if all the names cannot be read within `timeout` seconds.
    """
    try:
        with statement_timeout(connection, timeout):
            found = connection.execute(
                """SELECT DISTINCT cluster_id FROM task_group
                   WHERE cluster_id = ANY(%s) AND (name = ANY(%s) OR strpos(lower(name), lower(%s)) > 0)""",
                [list(clusters), list(groups), text],
            ).fetchall()
    except psycopg.errors.QueryCanceled:
        found = connection.execute(
            "SELECT cluster_id FROM task_group WHERE cluster_id = ANY(%s) AND name = ANY(%s)",
            [list(clusters), list(groups)],
        ).fetchall()
    return {cluster for (cluster,) in found}
