"""Tiles that were built once, kept."""

from __future__ import annotations

import psycopg


def kept(
    connection: psycopg.Connection, cluster: int, layer: str, level: int, index: int, version: int
) -> bytes | None:
    """The body of a tile that was built of the past of `version`."""
    row = connection.execute(
        """SELECT body FROM tile
           WHERE cluster_id = %s AND layer = %s AND level = %s AND index = %s AND version <= %s""",
        [cluster, layer, level, index, version],
    ).fetchone()
    return None if row is None else bytes(row[0])


def keep(
    connection: psycopg.Connection,
    cluster: int,
    layer: str,
    level: int,
    index: int,
    version: int,
    body: bytes,
) -> None:
    """Keeps a tile, unless the past has changed since it was read."""
    connection.execute(
        """INSERT INTO tile (cluster_id, layer, level, index, version, body)
           SELECT cluster_id, %s, %s, %s, version, %s FROM extent WHERE cluster_id = %s AND version = %s
           FOR SHARE
           ON CONFLICT (cluster_id, layer, level, index)
           DO UPDATE SET version = excluded.version, body = excluded.body""",
        [layer, level, index, body, cluster, version],
    )
