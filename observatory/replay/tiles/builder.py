"""Tiles: those that are closed are built once and kept, the others are made on the fly.

Up to the level BASE they are made of rows, above it of the two below them: what a tile costs doesn't depend
on how many rows it covers. Below BASE those are built ahead that are made of many rows.
docs/architecture.md, "Time, levels and tiles".
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import psycopg

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.tiles.clipping import clip_tile
from observatory.replay.tiles.from_children import count_spans, tile_from_children
from observatory.replay.tiles.from_rows import tile_from_rows
from observatory.replay.tiles.layers import Layer, layers_for
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.store.ingest.extent_update import SETTLING
from observatory.store.maintenance import tile_cache
from observatory.store.maintenance.retained_windows import holes
from observatory.store.queries import timeline
from observatory.store.queries.extents import Extent, read_extent
from observatory.wire.blocks import decode, encode
from observatory.wire.layers import SPANS

BASE_LEVEL = 16
"""tiles of 34 s"""
MANY_SPANS = 5_000
"""spans of a tile: those below it take longer to make than to read"""
MAXIMUM_TOP_TILES = 4
"""tiles of the lowest level that is made for a look at the whole cluster"""
TO_KEEP, TO_SEND = 6, 1
"""levels of compression: what is kept is compressed once and sent often"""
LONGEST_HEAD = 4096
"""bytes of an extent block, and more"""


@dataclass(frozen=True, slots=True)
class Tile:
    """Encoded blocks, the extent's first. A closed tile never changes while the extent's version stays."""

    packed: bytes
    """the blocks in gzip's format, as they are kept and as they travel"""
    version: int
    closed: bool

    @property
    def body(self) -> bytes:
        return gzip.decompress(self.packed)


def get_tile(connection: psycopg.Connection, scope: Scope, layer: Layer, tile_id: TileId) -> Tile:
    """Return a tile, cached or built now, clipped to the scope."""
    if tile_id.level > BASE_LEVEL:
        build_closed_tiles(connection, scope, layer, tile_id)
    made = _tile(connection, scope, layer, tile_id)
    return made if scope.is_whole else replace(made, packed=clip_tile(made.packed, scope))


def build_closed_tiles(
    connection: psycopg.Connection, scope: Scope, layer: Layer, tile_id: TileId, deep: bool = False
) -> int:
    """Builds and keeps what is closed at `tile_id` and below it and isn't kept, from below; how many tiles.

    `deep`: below BASE, too, where there are MANY spans.
    """
    extent = read_extent(connection, scope.cluster.pk)
    where = (scope.cluster.pk, _name(layer, scope, tile_id), tile_id.level, tile_id.index)
    if extent is None or not _overlaps(tile_id, extent, scope) or tile_cache.has_tile(connection, *where):
        return 0
    if _is_in(tile_id, holes(connection, scope.cluster.pk)):
        return 0
    built = 0
    if tile_id.level > BASE_LEVEL:
        built += sum(build_closed_tiles(connection, scope, layer, child, deep) for child in tile_id.children)
    if is_closed(tile_id, extent.committed, scope):
        made = _tile(connection, scope, layer, tile_id)
        built += 1
        can_be_finer = deep and layer.name == SPANS and MINIMUM_LEVEL < tile_id.level <= BASE_LEVEL
        if can_be_finer and count_spans(made.body) > MANY_SPANS:
            built += sum(
                build_closed_tiles(connection, scope, layer, child, deep) for child in tile_id.children
            )
    return built


def build_cluster_tiles(connection: psycopg.Connection, cluster: Cluster, layer: Layer) -> int:
    """Builds what a look at the whole cluster needs: what is closed, of an ended cluster all; how many."""
    scope = Scope(cluster)
    extent = read_extent(connection, cluster.pk)
    if extent is None or not extent.first:
        return 0
    top = covering_tile_ids(extent.first, extent.last)
    built = sum(build_closed_tiles(connection, scope, layer, tile_id, deep=True) for tile_id in top)
    if not cluster.is_live:
        for tile_id in top:
            _tile(connection, scope, layer, tile_id)
    return built


def build_window_tiles(connection: psycopg.Connection, scope: Scope) -> None:
    """Builds and keeps what a look at all of a window needs, as far as it is closed."""
    extent = read_extent(connection, scope.cluster.pk)
    if extent is None:
        return
    tile_ids = recorded_tile_ids(scope, extent)
    for layer in layers_for(extent.workers):
        for tile_id in tile_ids:
            build_closed_tiles(connection, scope, layer, tile_id)


def recorded_tiles(connection: psycopg.Connection, scope: Scope, layer: Layer) -> list[tuple[TileId, Tile]]:
    """The tiles of a layer that cover what was recorded of the scope, as few as there can be."""
    extent = read_extent(connection, scope.cluster.pk)
    tile_ids = [] if extent is None else recorded_tile_ids(scope, extent)
    return [(tile_id, get_tile(connection, scope, layer, tile_id)) for tile_id in tile_ids]


def recorded_tile_ids(scope: Scope, extent: Extent) -> list[TileId]:
    """The tiles that cover what was recorded of the scope; none where nothing was."""
    first, last = scope.clip_seconds(extent.first, extent.last)
    return covering_tile_ids(first, last) if first <= last else []


def covering_tile_ids(first: float, last: float) -> list[TileId]:
    """The tiles that cover a stretch (seconds), of the lowest level on which they are few."""
    for level in range(BASE_LEVEL, MAXIMUM_LEVEL + 1):
        start, stop = (TileId.at(level, round(time * 1e6)).index for time in (first, last))
        if stop - start < MAXIMUM_TOP_TILES:
            break
    return [TileId(level, index) for index in range(start, stop + 1)]


def _tile(connection: psycopg.Connection, scope: Scope, layer: Layer, tile_id: TileId) -> Tile:
    with timeline.snapshot(connection):
        extent = read_extent(connection, scope.cluster.pk) or empty_extent(scope.cluster)
        builder = _Builder(connection, scope, extent)
        packed = builder.packed(layer, tile_id)
    for (name, made), content in builder.made.items():
        tile_cache.store_tile(
            connection, scope.cluster.pk, name, made.level, made.index, extent.version, content
        )
    return Tile(packed, extent.version, is_closed(tile_id, extent.committed, scope))


class _Builder:
    """Builds a tile and what it needs below it, in a snapshot; keeps nothing yet."""

    def __init__(self, connection: psycopg.Connection, scope: Scope, extent: Extent) -> None:
        self.connection = connection
        self.scope = scope
        self.extent = extent
        self.holes = holes(connection, scope.cluster.pk)
        self.head = extent_block(extent, scope.cluster)
        self.made: dict[tuple[str, TileId], bytes] = {}
        """what can be kept, by name and tile_id"""

    def packed(self, layer: Layer, tile_id: TileId) -> bytes:
        name = _name(layer, self.scope, tile_id)
        where = (self.scope.cluster.pk, name, tile_id.level, tile_id.index)
        found = tile_cache.read_tile(self.connection, *where, self.extent.version)
        if found is not None and self._holds(found, tile_id):
            return found
        body = self.head + self._blocks(layer, tile_id)
        if is_closed(tile_id, self.extent.committed, self.scope) or not self.scope.cluster.is_live:
            self.made[name, tile_id] = _pack(body, TO_KEEP)
            return self.made[name, tile_id]
        return _pack(body, TO_SEND)

    def _blocks(self, layer: Layer, tile_id: TileId) -> bytes:
        scope = Scope(self.scope.cluster) if self.scope.contains(tile_id) else self.scope
        start, stop = scope.clip(tile_id)
        if start == stop:
            return tile_from_children(layer, tile_id, (), scope.window)
        if tile_id.level <= BASE_LEVEL:
            return tile_from_rows(self.connection, scope, layer, tile_id)
        children = [
            child
            for child in tile_id.children
            if _overlaps(child, self.extent, self.scope) and not _is_in(child, self.holes)
        ]
        found = [(child, gzip.decompress(self.packed(layer, child))) for child in children]
        return tile_from_children(layer, tile_id, found, scope.window)

    def _holds(self, packed: bytes, tile_id: TileId) -> bool:
        """Whether a kept tile is still true: it was closed when it was built, or nothing was stored since."""
        head = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(packed, LONGEST_HEAD)
        if head.startswith(self.head):
            return True
        return is_closed(tile_id, next(decode(head)).meta["committed"], self.scope)


def _name(layer: Layer, scope: Scope, tile_id: TileId) -> str:
    """What the tile is kept as: of a tile that lies within the scope there is one, whatever the scope."""
    if scope.contains(tile_id):
        return str(layer)
    return f"{layer}{'' if '.' in str(layer) else '.'}@{scope.start}-{scope.stop}"


def _pack(body: bytes, level: int) -> bytes:
    return gzip.compress(body, level, mtime=0)


def is_closed(tile_id: TileId, committed: float, scope: Scope) -> bool:
    """docs/architecture.md, "Time, levels and tiles"."""
    return min(tile_id.stop, scope.stop) / 1e6 < committed - SETTLING


def _overlaps(tile_id: TileId, extent: Extent, scope: Scope) -> bool:
    start, stop = scope.clip(tile_id)
    return start < stop and stop / 1e6 > extent.first and start / 1e6 <= extent.last


def _is_in(tile_id: TileId, holes: Sequence[tuple[float, float]]) -> bool:
    """Whether retention left nothing of the tile's time, so that it isn't made of many empty ones."""
    return any(start <= tile_id.start / 1e6 and tile_id.stop / 1e6 <= stop for start, stop in holes)


def empty_extent(cluster: Cluster) -> Extent:
    """The extent of a cluster that nothing was stored of yet."""
    started = cluster.started.timestamp()
    return Extent(cluster.pk, started, started, started, 1, 0, 0, 0, 0, 0)


def extent_block(extent: Extent, cluster: Cluster) -> bytes:
    return encode("extent", 0, [], extent_meta(extent, cluster))


def extent_meta(extent: Extent, cluster: Cluster) -> dict[str, object]:
    """The meta of an `extent` block."""
    known = asdict(extent)
    target = cluster.target
    return {
        **{name: known[name] for name in ("first", "last", "committed", "version", "sequence")},
        "task_count": extent.tasks,
        "error_count": extent.errors,
        "worker_count": extent.workers,
        "ended": cluster.ended.timestamp() if cluster.ended else None,
        "end_reason": cluster.end_reason,
        "stream": target.stream if target else "unknown",
    }
