"""How long tasks of each prefix computed in a whole cluster that ended, kept as a tile.

Its page needs that, and asks no archived record for it.
"""

from __future__ import annotations

import json

import psycopg

from observatory.store.maintenance import tile_cache
from observatory.store.maintenance.keyframes import seconds_until
from observatory.store.queries.extents import Extent, read_extent
from observatory.store.times import seconds_to_microseconds

LAYER = "seconds"
"""in the table of tiles"""
LEVEL = 36
SHIFT = LEVEL + 9
"""tiles are 2^SHIFT microseconds long: 407 days"""


def keep_seconds(connection: psycopg.Connection, extent: Extent) -> None:
    """Keep them, as they are until the cluster's last record, unless they are."""
    last = seconds_to_microseconds(extent.last)
    if kept_seconds(connection, extent.cluster, last) is not None:
        return
    seconds = seconds_until(connection, extent.cluster, last)
    body = json.dumps({"sequence": extent.sequence, "seconds": list(seconds.items())})
    where = (extent.cluster, LAYER, LEVEL, last >> SHIFT)
    tile_cache.store_tile(connection, *where, extent.version, body.encode())


def kept_seconds(connection: psycopg.Connection, cluster: int, stop: int) -> dict[int, float] | None:
    """Return seconds by prefix until `stop` (µs); None if more was stored since, or something comes later."""
    extent = read_extent(connection, cluster)
    if extent is None or stop < (last := seconds_to_microseconds(extent.last)):
        return None
    body = tile_cache.read_tile(connection, cluster, LAYER, LEVEL, last >> SHIFT, extent.version)
    kept = None if body is None else json.loads(body)
    return dict(kept["seconds"]) if kept and kept["sequence"] == extent.sequence else None
