"""Which clusters are to be archived: settled ones that have other records than their files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import psycopg

SETTLED = timedelta(hours=1)
"""after a cluster's end, by when late records have come"""
WAITING = """
    FROM clusters_cluster cluster JOIN extent ON extent.cluster_id = cluster.id AND extent.sequence > 0
    LEFT JOIN archived_cluster archived ON archived.cluster_id = cluster.id
    WHERE cluster.ended < now() - %(settled)s
      AND (archived.sequence IS DISTINCT FROM extent.sequence OR archived.runs = '')"""


@dataclass(frozen=True, slots=True)
class Progress:
    """Numbers of clusters and of what is in the archive."""

    waiting: int
    """clusters that are to be archived"""
    archived: int
    """clusters whose records are all in the archive"""
    files: int
    rows: int
    bytes: int
    leftovers: int
    """files that are being written, or are to be removed"""
    removed: int
    """rows that are in the archive alone"""


def waiting_clusters(connection: psycopg.Connection, settled: timedelta = SETTLED) -> list[int]:
    """The ids of the clusters, those that ended first first."""
    rows = connection.execute(f"SELECT cluster.id {WAITING} ORDER BY cluster.ended", {"settled": settled})
    return [cluster for (cluster,) in rows]


def clusters_to_remove_from(connection: psycopg.Connection, after: timedelta, unused: timedelta) -> list[int]:
    """The clusters that ended that long ago, are archived, and have rows that may leave their tables.

    Those that nobody needed for longest come first.
    """
    rows = connection.execute(
        """SELECT cluster.id FROM clusters_cluster cluster
           JOIN extent ON extent.cluster_id = cluster.id
           JOIN archived_cluster archived
               ON archived.cluster_id = cluster.id AND archived.sequence = extent.sequence
           CROSS JOIN LATERAL (
               SELECT count(*) AS kinds, min(used) FILTER (WHERE NOT is_removed) AS used
               FROM archived_rows WHERE cluster_id = cluster.id
           ) AS listed
           WHERE cluster.ended < now() - %s AND (kinds = 0 OR listed.used < now() - %s)
           ORDER BY listed.used NULLS LAST, cluster.ended""",
        [after, unused],
    )
    return [cluster for (cluster,) in rows]


def has_live_clusters(connection: psycopg.Connection) -> bool:
    return (
        connection.execute("SELECT FROM clusters_cluster WHERE ended IS NULL LIMIT 1").fetchone() is not None
    )


def read_progress(connection: psycopg.Connection) -> Progress:
    row = connection.execute(
        f"""SELECT (SELECT count(*) {WAITING}), (SELECT count(*) FROM archived_cluster WHERE sequence >= 0),
                count(*) FILTER (WHERE state = 'stored'),
                coalesce(sum(rows) FILTER (WHERE state = 'stored'), 0)::bigint,
                coalesce(sum(bytes) FILTER (WHERE state = 'stored'), 0)::bigint,
                count(*) FILTER (WHERE state <> 'stored'),
                coalesce(sum(rows) FILTER (WHERE state = 'stored' AND is_removed), 0)::bigint
            FROM archive_piece LEFT JOIN archived_rows USING (cluster_id, kind)""",
        {"settled": SETTLED},
    ).fetchone()
    assert row is not None
    return Progress(*row)
