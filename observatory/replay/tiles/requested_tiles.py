"""The tiles of one request: cached ones are read together, others built side by side."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

from django.db import close_old_connections

from observatory.replay.scope import Scope
from observatory.replay.tiles.builder import cached_tiles, get_tile
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.replay.tiles.tile import Tile
from observatory.store.connection import MAXIMUM_BUILDERS, build_connection, read_connection

SIDE_BY_SIDE = MAXIMUM_BUILDERS - 1
"""builds of one request at a time, which leave a connection to other requests"""


def requested_tiles(scope: Scope, wanted: Sequence[tuple[Layer, TileId]]) -> list[Tile]:
    """Read or build tiles, in the order of `wanted`. Raises psycopg_pool.PoolTimeout."""
    with read_connection() as connection:
        found = cached_tiles(connection, scope, wanted)
    missing = [place for place, tile in enumerate(found) if tile is None]
    if missing:
        close_old_connections()  # a build takes long, and others need Django's connection
        with ThreadPoolExecutor(min(len(missing), SIDE_BY_SIDE)) as threads:
            # each thread knows whose request it is
            builds = [partial(copy_context().run, _build, scope, *wanted[place]) for place in missing]
            built = [threads.submit(build) for build in builds]
            for place, tile in zip(missing, built, strict=True):
                found[place] = tile.result()
    return [tile for tile in found if tile]


def _build(scope: Scope, layer: Layer, tile_id: TileId) -> Tile:
    with build_connection() as connection:
        return get_tile(connection, scope, layer, tile_id)
