"""Builds tiles: closed ones once, which are then cached, open ones for each request.

Tiles up to BASE_LEVEL are built from rows, those above from the two tiles below, so that the cost of a tile
doesn't depend on the number of rows it covers. Of the levels above, every second one is cached: most of a
tile is in those below it, too. Below BASE_LEVEL, tiles of many rows are built ahead. A tile of few rows is
built from them on each request, and below KEPT_LEVEL it isn't cached, except for those that a page shows
first of an archived cluster: its rows are in files.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import psycopg
from django.conf import settings

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.tiles.cache_names import cache_name, window_name
from observatory.replay.tiles.clipping import clip_tile
from observatory.replay.tiles.extent_block import empty_extent, extent_block
from observatory.replay.tiles.from_children import count_spans, tile_from_children
from observatory.replay.tiles.from_rows import DrawnSeries, has_few_rows, series_of, tile_from_rows
from observatory.replay.tiles.layers import Layer, layers_for
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.replay.tiles.merged_tiles import MergedTiles
from observatory.replay.tiles.recorded import exists, is_in_hole, overlaps
from observatory.replay.tiles.scanned_rows import kind_of, scanned_rows
from observatory.replay.tiles.tile import Tile
from observatory.store.maintenance import tile_cache
from observatory.store.maintenance.retained_windows import holes
from observatory.store.queries import timeline
from observatory.store.queries.extents import SETTLING, Extent, read_extent
from observatory.store.reading.scanning import have_left
from observatory.store.times import seconds_to_microseconds
from observatory.wire.blocks import decode
from observatory.wire.layers import SPANS

BASE_LEVEL = 16
"""tiles of 34 s"""
KEPT_LEVEL = 26
"""tiles of 9.5 hours: from here on tiles are cached, also those of few rows"""
FEW_ROWS = 2_000
"""rows that a tile can be built from as quickly as a cached one is read"""
FEW_SUMMED_ROWS = 20_000
"""rows that sums are made of on each request: of many keys, a cached tile takes as much room as they do"""
DIRECT_ROWS = 200_000
"""rows that a tile with one value of each worker is built from: its bins are wide, so those below it are
seldom looked at, and would take as much room each"""
MANY_SPANS = 20_000
"""spans of a tile, above which its children are built ahead as well"""
MAXIMUM_TOP_TILES = 4
"""tiles that cover a whole cluster"""
AHEAD_COMPRESSION, CACHE_COMPRESSION, SEND_COMPRESSION = 8, 5, 1
"""levels of gzip: a cached tile is compressed once and sent often. 8 takes seven times as long as 5, for a
quarter less room: it is for what nobody waits for, from BASE_LEVEL upwards"""
MAXIMUM_HEAD = 4096
"""bytes that suffice for an extent block"""
_merged = MergedTiles()


def get_tile(connection: psycopg.Connection, scope: Scope, layer: Layer, tile_id: TileId) -> Tile:
    """Return a tile, cached or built now, clipped to the scope."""
    rows = _Rows(_LayerBuild(connection, scope, layer), tile_id)
    if tile_id.level > BASE_LEVEL and not rows.build.is_made_of_files:
        _build_closed_tiles(rows)
    tile = _build(rows)
    return tile if scope.is_whole else replace(tile, packed=clip_tile(tile.packed, scope))


def cached_tiles(
    connection: psycopg.Connection, scope: Scope, wanted: Iterable[tuple[Layer, TileId]]
) -> list[Tile | None]:
    """Return tiles as get_tile does, of one snapshot; None: it would have to be built."""
    with timeline.snapshot(connection):
        extent = read_extent(connection, scope.cluster.pk)
        if extent is None:
            return [None for _ in wanted]
        builder = _TileBuilder(connection, scope, extent)
        found = [(tile_id, builder.cached(layer, tile_id)) for layer, tile_id in wanted]
    return [
        None
        if packed is None
        else Tile(
            packed if scope.is_whole else clip_tile(packed, scope),
            extent.version,
            is_closed(tile_id, extent.committed, scope),
        )
        for tile_id, packed in found
    ]


def _build_closed_tiles(rows: _Rows) -> int:
    """Build and cache the closed tiles of `rows` and below that aren't cached; returns their number.

    Those that are built ahead are built below BASE_LEVEL as well, where there are MANY_SPANS.
    """
    build, tile_id = rows.build, rows.tile_id
    layer, scope, extent = build.layer, build.scope, build.extent
    if extent is None or not exists(layer, extent) or not overlaps(tile_id, extent, scope):
        return 0
    if _is_cached(build.connection, scope, layer, tile_id) or is_in_hole(tile_id, build.holes):
        return 0
    if rows.are_few and tile_id.level < build.kept_level:
        return 0
    built = 0
    if not rows.are_few and not rows.are_read_directly:
        built += _build_children(rows)
    is_cached_then = rows.are_few or is_cacheable(layer, tile_id.level)
    if is_cached_then and is_closed(tile_id, extent.committed, scope):
        tile = _build(rows, is_missing=True)
        built += 1
        can_be_finer = build.ahead and layer.name == SPANS and MINIMUM_LEVEL < tile_id.level <= BASE_LEVEL
        if can_be_finer and count_spans(tile.body) > MANY_SPANS:
            built += _build_children(rows)
    return built


def build_cluster_tiles(connection: psycopg.Connection, cluster: Cluster, layer: Layer) -> int:
    """Build the closed tiles of the whole cluster, or all once it has ended; returns the number of closed."""
    scope = Scope(cluster)
    build = _LayerBuild(connection, scope, layer, ahead=True)
    if build.extent is None or not build.extent.first:
        return 0
    top = [_Rows(build, tile_id) for tile_id in covering_tile_ids(build.extent.first, build.extent.last)]
    built = sum(map(_build_closed_tiles, top))
    if not cluster.is_live:
        for rows in top:
            _build(rows)
    return built


def build_window_tiles(connection: psycopg.Connection, scope: Scope) -> None:
    """Build the closed tiles that show a whole window, for which nobody waits."""
    extent = read_extent(connection, scope.cluster.pk)
    if extent is None:
        return
    tile_ids = recorded_tile_ids(scope, extent)
    for layer in layers_for(extent.workers):
        build = _LayerBuild(connection, scope, layer, ahead=True)
        for tile_id in tile_ids:
            _build_closed_tiles(_Rows(build, tile_id))


def forget_other_windows(connection: psycopg.Connection, cluster: Cluster, kept: Iterable[Scope]) -> None:
    """Delete the cached tiles of the cluster's windows that no scope has any more."""
    tile_cache.delete_windows(connection, cluster.pk, [window_name(scope) for scope in kept])


def recorded_tiles(connection: psycopg.Connection, scope: Scope, layer: Layer) -> list[tuple[TileId, Tile]]:
    """Return the few tiles of a layer that cover everything recorded in the scope."""
    extent = read_extent(connection, scope.cluster.pk)
    tile_ids = [] if extent is None else recorded_tile_ids(scope, extent)
    return [(tile_id, get_tile(connection, scope, layer, tile_id)) for tile_id in tile_ids]


def recorded_tile_ids(scope: Scope, extent: Extent) -> list[TileId]:
    """Return the tiles that cover everything recorded in the scope; none if nothing was."""
    first, last = scope.clip_seconds(extent.first, extent.last)
    return covering_tile_ids(first, last) if first <= last else []


def covering_tile_ids(first: float, last: float) -> list[TileId]:
    """Return the tiles that cover a time range (seconds), of the lowest level with few of them."""
    for level in range(BASE_LEVEL, MAXIMUM_LEVEL + 1):
        start, stop = (TileId.at(level, seconds_to_microseconds(time)).index for time in (first, last))
        if stop - start < MAXIMUM_TOP_TILES:
            break
    return [TileId(level, index) for index in range(start, stop + 1)]


def is_cacheable(layer: Layer, level: int) -> bool:
    """Return whether tiles of a level are cached; those between are built from the two below each.

    Those with one value of each worker are built from many rows, so all of them are.
    """
    return layer.is_each or level <= BASE_LEVEL or (level - BASE_LEVEL) % 2 == 0


def is_closed(tile_id: TileId, committed: float, scope: Scope) -> bool:
    """Return whether no more records can be added to the tile, late ones aside."""
    return min(tile_id.stop, scope.stop) / 1e6 < committed - SETTLING


def _build(rows: _Rows, is_missing: bool = False) -> Tile:
    """Return a tile, cached or built; `is_missing`: it isn't cached."""
    build, scope, tile_id = rows.build, rows.build.scope, rows.tile_id
    with timeline.snapshot(build.connection):
        build.extent = read_extent(build.connection, scope.cluster.pk)
        extent = build.extent or empty_extent(scope.cluster)
        builder = _TileBuilder(build.connection, scope, extent, build.ahead)
        packed = None if is_missing else builder.cached(build.layer, tile_id)
        if packed is None:
            with scanned_rows(build.connection, scope, build.layer, tile_id):
                packed = builder.build(rows)
    for (name, built), body in builder.built.items():
        where = (scope.cluster.pk, name, built.level, built.index)
        tile_cache.store_tile(build.connection, *where, extent.version, body)
    return Tile(packed, extent.version, is_closed(tile_id, extent.committed, scope))


def _build_children(rows: _Rows) -> int:
    return sum(_build_closed_tiles(rows.of(child)) for child in rows.tile_id.children)


class _LayerBuild:
    """What the tiles of a layer that are built together have in common, read once for all of them.

    `ahead`: nobody waits. Tiles are compressed harder.
    """

    def __init__(
        self, connection: psycopg.Connection, scope: Scope, layer: Layer, ahead: bool = False
    ) -> None:
        self.connection = connection
        self.scope = scope
        self.layer = layer
        self.ahead = ahead
        self._series: tuple[int, DrawnSeries] | None = None

    @cached_property
    def extent(self) -> Extent | None:
        """As it was when the last tile was built."""
        return read_extent(self.connection, self.scope.cluster.pk)

    @cached_property
    def holes(self) -> list[tuple[float, float]]:
        """As they were when the build began."""
        return holes(self.connection, self.scope.cluster.pk)

    @cached_property
    def is_made_of_files(self) -> bool:
        """Whether the rows that tiles are made from are in the archive alone."""
        if self.layer.is_sum or self.scope.cluster.is_live:
            return False
        return have_left(self.connection, self.scope.cluster.pk, kind_of(self.layer))

    @cached_property
    def kept_level(self) -> int:
        """The level from which on tiles of few rows are cached, too.

        Where rows leave to the archive, it is the one that shows a whole cluster; where they have left, the
        one that shows the scope.
        """
        if self.layer.is_sum or self.scope.cluster.is_live:
            return KEPT_LEVEL
        leaves = self.scope.is_whole and settings.ARCHIVE_REMOVES_ROWS_AFTER is not None
        if not leaves and not self.is_made_of_files:
            return KEPT_LEVEL
        shown = recorded_tile_ids(self.scope, self.extent) if self.extent else []
        return min([KEPT_LEVEL, *(tile_id.level for tile_id in shown)])

    @property
    def series(self) -> DrawnSeries:
        """The series of the layer, read again after something was stored: samples can be of new ones."""
        sequence = self.extent.sequence if self.extent else 0
        if self._series is None or self._series[0] != sequence:
            self._series = sequence, series_of(self.connection, self.scope, self.layer)
        return self._series[1]


class _Rows:
    """Whether a tile is built from its rows, which are counted when that matters, and once."""

    def __init__(self, build: _LayerBuild, tile_id: TileId) -> None:
        self.build = build
        self.tile_id = tile_id

    @cached_property
    def are_few(self) -> bool:
        """Whether it is built from them because they are few."""
        most = FEW_SUMMED_ROWS if self.build.layer.is_sum else FEW_ROWS
        return self.tile_id.level <= KEPT_LEVEL and self._are_at_most(most)

    @cached_property
    def are_read_directly(self) -> bool:
        """Whether it is built from them though they aren't few."""
        level = self.tile_id.level
        if level <= BASE_LEVEL or not self.build.layer.is_each:
            return level <= BASE_LEVEL
        return level <= KEPT_LEVEL and self._are_at_most(DIRECT_ROWS)

    def of(self, child: TileId) -> _Rows:
        return _Rows(self.build, child)

    def _are_at_most(self, most: int) -> bool:
        build = self.build
        return has_few_rows(build.connection, build.scope, build.layer, self.tile_id, build.series, most)


class _TileBuilder:
    """Builds a tile and those that it needs below it, in a snapshot; writes nothing."""

    def __init__(
        self, connection: psycopg.Connection, scope: Scope, extent: Extent, ahead: bool = False
    ) -> None:
        self.connection = connection
        self.scope = scope
        self.extent = extent
        self.ahead = ahead
        self.head = extent_block(extent, scope.cluster)
        self.built: dict[tuple[str, TileId], bytes] = {}
        """tiles to be cached, by name and id"""

    @cached_property
    def holes(self) -> list[tuple[float, float]]:
        return holes(self.connection, self.scope.cluster.pk)

    def cached(self, layer: Layer, tile_id: TileId) -> bytes | None:
        """A cached tile, unless it is outdated. Of a level that isn't cached: built from two that are."""
        if is_cacheable(layer, tile_id.level):
            return self._read(layer, tile_id)
        below = tuple(child for child in tile_id.children if self._has_records(child))
        # the head has the version and the newest record: with an equal one, the children are the same
        key = (self.scope.cluster.pk, cache_name(layer, self.scope, tile_id), tile_id, below, self.head)
        merged = _merged.get(key)
        if merged is None:
            children = [(child, found) for child in below if (found := self._read(layer, child)) is not None]
            if len(children) < len(below):
                return self._read(layer, tile_id)  # it can have so few rows that it wasn't made of these two
            body = self.head + self._from_children(layer, tile_id, children)
            merged = _pack(body, SEND_COMPRESSION)
            _merged.put(key, merged)
        return merged

    def packed(self, rows: _Rows) -> bytes:
        cached = self.cached(rows.build.layer, rows.tile_id)
        return self.build(rows) if cached is None else cached

    def build(self, rows: _Rows) -> bytes:
        layer, tile_id = rows.build.layer, rows.tile_id
        has_records = exists(layer, self.extent) and self._has_records(tile_id)
        are_few = has_records and rows.are_few
        body = self.head + self._blocks(rows, are_few)
        is_final = is_closed(tile_id, self.extent.committed, self.scope) or not self.scope.cluster.is_live
        is_kept = tile_id.level >= rows.build.kept_level
        is_worth_it = is_kept if are_few else is_cacheable(layer, tile_id.level)
        if is_final and has_records and is_worth_it:
            name = cache_name(layer, self.scope, tile_id)
            is_ahead = self.ahead and tile_id.level >= BASE_LEVEL
            compression = AHEAD_COMPRESSION if is_ahead else CACHE_COMPRESSION
            self.built[name, tile_id] = _pack(body, compression)
            return self.built[name, tile_id]
        return _pack(body, SEND_COMPRESSION)

    def _read(self, layer: Layer, tile_id: TileId) -> bytes | None:
        name = cache_name(layer, self.scope, tile_id)
        where = (self.scope.cluster.pk, name, tile_id.level, tile_id.index)
        found = tile_cache.read_tile(self.connection, *where, self.extent.version)
        return found if found is not None and self._is_current(found, tile_id) else None

    def _blocks(self, rows: _Rows, are_few: bool) -> bytes:
        layer, tile_id = rows.build.layer, rows.tile_id
        scope = Scope(self.scope.cluster) if self.scope.contains(tile_id) else self.scope
        start, stop = scope.clip(tile_id)
        if start == stop:
            return tile_from_children(layer, tile_id, (), scope.window)
        if are_few or rows.are_read_directly:
            return tile_from_rows(self.connection, scope, layer, tile_id, rows.build.series)
        below = [child for child in tile_id.children if self._has_records(child)]
        return self._from_children(layer, tile_id, [(child, self.packed(rows.of(child))) for child in below])

    def _from_children(
        self, layer: Layer, tile_id: TileId, children: Sequence[tuple[TileId, bytes]]
    ) -> bytes:
        scope = Scope(self.scope.cluster) if self.scope.contains(tile_id) else self.scope
        bodies = [(child, gzip.decompress(packed)) for child, packed in children]
        return tile_from_children(layer, tile_id, bodies, scope.window)

    def _has_records(self, tile_id: TileId) -> bool:
        return overlaps(tile_id, self.extent, self.scope) and not is_in_hole(tile_id, self.holes)

    def _is_current(self, packed: bytes, tile_id: TileId) -> bool:
        """Return whether a cached tile was closed when it was built, or nothing was stored since."""
        head = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(packed, MAXIMUM_HEAD)
        if head.startswith(self.head):
            return True
        return is_closed(tile_id, next(decode(head)).meta["committed"], self.scope)


def _is_cached(connection: psycopg.Connection, scope: Scope, layer: Layer, tile_id: TileId) -> bool:
    name = cache_name(layer, scope, tile_id)
    return tile_cache.has_tile(connection, scope.cluster.pk, name, tile_id.level, tile_id.index)


def _pack(body: bytes, level: int) -> bytes:
    return gzip.compress(body, level, mtime=0)
