"""The table of built tiles: each is built once, then read."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg


def read_tile(
    connection: psycopg.Connection, cluster: int, layer: str, level: int, index: int, version: int
) -> bytes | None:
    """Return the body of a tile built from `version` of the extent or an earlier one; None if not stored."""
    row = connection.execute(
        """SELECT body FROM tile
           WHERE cluster_id = %s AND layer = %s AND level = %s AND index = %s AND version <= %s""",
        [cluster, layer, level, index, version],
    ).fetchone()
    return None if row is None else bytes(row[0])


def has_tile(connection: psycopg.Connection, cluster: int, layer: str, level: int, index: int) -> bool:
    """Return whether a tile is stored, closed or not when it was built."""
    row = connection.execute(
        "SELECT FROM tile WHERE cluster_id = %s AND layer = %s AND level = %s AND index = %s",
        [cluster, layer, level, index],
    ).fetchone()
    return row is not None


def store_tile(
    connection: psycopg.Connection,
    cluster: int,
    layer: str,
    level: int,
    index: int,
    version: int,
    body: bytes,
) -> None:
    """Store a tile, unless the extent's version has changed since the tile was read.

    The commit is asynchronous: a tile lost in a crash is built again.
    """
    connection.execute(
        """INSERT INTO tile (cluster_id, layer, level, index, version, body)
           SELECT cluster_id, %s, %s, %s, version, %s FROM extent WHERE cluster_id = %s AND version = %s
             AND set_config('synchronous_commit', 'off', true) = 'off'
           FOR SHARE
           ON CONFLICT (cluster_id, layer, level, index)
           DO UPDATE SET version = excluded.version, body = excluded.body""",
        [layer, level, index, body, cluster, version],
    )


def delete_windows(connection: psycopg.Connection, cluster: int, kept: Sequence[str]) -> None:
    """Delete the tiles of other windows than those `kept`; their layers' names end in "@" and the window."""
    connection.execute(
        """DELETE FROM tile WHERE cluster_id = %s AND layer LIKE '%%@%%'
             AND split_part(layer, '@', 2) <> ALL(%s)""",
        [cluster, list(kept)],
    )
