"""Tiles that were built once, kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

BUILDING = 0x7469
"""the class of the advisory locks of those who build a cluster's tiles"""


def read_tile(
    connection: psycopg.Connection, cluster: int, layer: str, level: int, index: int, version: int
) -> bytes | None:
    """The body of a tile that was built of the past of `version`."""
    row = connection.execute(
        """SELECT body FROM tile
           WHERE cluster_id = %s AND layer = %s AND level = %s AND index = %s AND version <= %s""",
        [cluster, layer, level, index, version],
    ).fetchone()
    return None if row is None else bytes(row[0])


def has_tile(connection: psycopg.Connection, cluster: int, layer: str, level: int, index: int) -> bool:
    """Whether there is one, closed or not when it was built."""
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
    """Keeps a tile, unless the past has changed since it was read.

    Nobody waits for the disk: a tile that is lost is built again.
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


@contextmanager
def alone(connection: psycopg.Connection, cluster: int) -> Iterator[bool]:
    """Whether nobody else builds the cluster's tiles just now; until the block ends nobody else does."""
    row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", [BUILDING, cluster]).fetchone()
    is_alone = bool(row and row[0])
    try:
        yield is_alone
    finally:
        if is_alone and not connection.broken:
            connection.execute("SELECT pg_advisory_unlock(%s, %s)", [BUILDING, cluster])
