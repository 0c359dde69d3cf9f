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
from observatory.replay.tiles.base import of_rows
from observatory.replay.tiles.layers import Layer, layers_of
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, Place
from observatory.replay.tiles.narrowing import narrowed
from observatory.replay.tiles.pyramid import count_spans, of_children
from observatory.store.ingest.extent_update import SETTLING
from observatory.store.maintenance import tiles as kept_tiles
from observatory.store.maintenance.retained_windows import holes
from observatory.store.queries import timeline
from observatory.store.queries.extents import Extent
from observatory.wire.blocks import decode, encode
from observatory.wire.layers import SPANS

BASE = 16
"""tiles of 34 s"""
MANY = 5_000
"""spans of a tile: those below it take longer to make than to read"""
MOST_AT_TOP = 4
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


def tile(connection: psycopg.Connection, scope: Scope, layer: Layer, place: Place) -> Tile:
    """The tile of `layer` at `place`: a kept one, or built now. What is outside of the scope isn't in it."""
    if place.level > BASE:
        prepare(connection, scope, layer, place)
    made = _tile(connection, scope, layer, place)
    return made if scope.is_whole else replace(made, packed=narrowed(made.packed, scope))


def prepare(
    connection: psycopg.Connection, scope: Scope, layer: Layer, place: Place, deep: bool = False
) -> int:
    """Builds and keeps what is closed at `place` and below it and isn't kept, from below; how many tiles.

    `deep`: below BASE, too, where there are MANY spans.
    """
    extent = timeline.extent(connection, scope.cluster.pk)
    where = (scope.cluster.pk, _name(layer, scope, place), place.level, place.index)
    if extent is None or not _overlaps(place, extent, scope) or kept_tiles.is_kept(connection, *where):
        return 0
    if _is_in(place, holes(connection, scope.cluster.pk)):
        return 0
    built = 0
    if place.level > BASE:
        built += sum(prepare(connection, scope, layer, child, deep) for child in place.children)
    if is_closed(place, extent.committed, scope):
        made = _tile(connection, scope, layer, place)
        built += 1
        can_be_finer = deep and layer.name == SPANS and MINIMUM_LEVEL < place.level <= BASE
        if can_be_finer and count_spans(made.body) > MANY:
            built += sum(prepare(connection, scope, layer, child, deep) for child in place.children)
    return built


def prepare_all(connection: psycopg.Connection, cluster: Cluster, layer: Layer) -> int:
    """Builds what a look at the whole cluster needs: what is closed, of an ended cluster all; how many."""
    scope = Scope(cluster)
    extent = timeline.extent(connection, cluster.pk)
    if extent is None or not extent.first:
        return 0
    top = whole(extent.first, extent.last)
    built = sum(prepare(connection, scope, layer, place, deep=True) for place in top)
    if not cluster.is_live:
        for place in top:
            _tile(connection, scope, layer, place)
    return built


def prepare_window(connection: psycopg.Connection, scope: Scope) -> None:
    """Builds and keeps what a look at all of a window needs, as far as it is closed."""
    extent = timeline.extent(connection, scope.cluster.pk)
    if extent is None:
        return
    places = recorded(scope, extent)
    for layer in layers_of(extent.workers):
        for place in places:
            prepare(connection, scope, layer, place)


def over_all(connection: psycopg.Connection, scope: Scope, layer: Layer) -> list[tuple[Place, Tile]]:
    """The tiles of a layer that cover what was recorded of the scope, as few as there can be."""
    extent = timeline.extent(connection, scope.cluster.pk)
    places = [] if extent is None else recorded(scope, extent)
    return [(place, tile(connection, scope, layer, place)) for place in places]


def recorded(scope: Scope, extent: Extent) -> list[Place]:
    """The tiles that cover what was recorded of the scope; none where nothing was."""
    first, last = scope.within(extent.first, extent.last)
    return whole(first, last) if first <= last else []


def whole(first: float, last: float) -> list[Place]:
    """The tiles that cover a stretch (seconds), of the lowest level on which they are few."""
    for level in range(BASE, MAXIMUM_LEVEL + 1):
        start, stop = (Place.at(level, round(time * 1e6)).index for time in (first, last))
        if stop - start < MOST_AT_TOP:
            break
    return [Place(level, index) for index in range(start, stop + 1)]


def _tile(connection: psycopg.Connection, scope: Scope, layer: Layer, place: Place) -> Tile:
    with timeline.snapshot(connection):
        extent = timeline.extent(connection, scope.cluster.pk) or nothing(scope.cluster)
        builder = _Builder(connection, scope, extent)
        packed = builder.packed(layer, place)
    for (name, made), content in builder.made.items():
        kept_tiles.keep(connection, scope.cluster.pk, name, made.level, made.index, extent.version, content)
    return Tile(packed, extent.version, is_closed(place, extent.committed, scope))


class _Builder:
    """Builds a tile and what it needs below it, in a snapshot; keeps nothing yet."""

    def __init__(self, connection: psycopg.Connection, scope: Scope, extent: Extent) -> None:
        self.connection = connection
        self.scope = scope
        self.extent = extent
        self.holes = holes(connection, scope.cluster.pk)
        self.head = extent_block(extent, scope.cluster)
        self.made: dict[tuple[str, Place], bytes] = {}
        """what can be kept, by name and place"""

    def packed(self, layer: Layer, place: Place) -> bytes:
        name = _name(layer, self.scope, place)
        where = (self.scope.cluster.pk, name, place.level, place.index)
        found = kept_tiles.kept(self.connection, *where, self.extent.version)
        if found is not None and self._holds(found, place):
            return found
        body = self.head + self._blocks(layer, place)
        if is_closed(place, self.extent.committed, self.scope) or not self.scope.cluster.is_live:
            self.made[name, place] = _pack(body, TO_KEEP)
            return self.made[name, place]
        return _pack(body, TO_SEND)

    def _blocks(self, layer: Layer, place: Place) -> bytes:
        scope = Scope(self.scope.cluster) if self.scope.holds(place) else self.scope
        start, stop = scope.of(place)
        if start == stop:
            return of_children(layer, place, (), scope.window)
        if place.level <= BASE:
            return of_rows(self.connection, scope, layer, place)
        children = [
            child
            for child in place.children
            if _overlaps(child, self.extent, self.scope) and not _is_in(child, self.holes)
        ]
        found = [(child, gzip.decompress(self.packed(layer, child))) for child in children]
        return of_children(layer, place, found, scope.window)

    def _holds(self, packed: bytes, place: Place) -> bool:
        """Whether a kept tile is still true: it was closed when it was built, or nothing was stored since."""
        head = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(packed, LONGEST_HEAD)
        if head.startswith(self.head):
            return True
        return is_closed(place, next(decode(head)).meta["committed"], self.scope)


def _name(layer: Layer, scope: Scope, place: Place) -> str:
    """What the tile is kept as: of a tile that lies within the scope there is one, whatever the scope."""
    if scope.holds(place):
        return str(layer)
    return f"{layer}{'' if '.' in str(layer) else '.'}@{scope.start}-{scope.stop}"


def _pack(body: bytes, level: int) -> bytes:
    return gzip.compress(body, level, mtime=0)


def is_closed(place: Place, committed: float, scope: Scope) -> bool:
    """docs/architecture.md, "Time, levels and tiles"."""
    return min(place.stop, scope.stop) / 1e6 < committed - SETTLING


def _overlaps(place: Place, extent: Extent, scope: Scope) -> bool:
    start, stop = scope.of(place)
    return start < stop and stop / 1e6 > extent.first and start / 1e6 <= extent.last


def _is_in(place: Place, holes: Sequence[tuple[float, float]]) -> bool:
    """Whether retention left nothing of the tile's time, so that it isn't made of many empty ones."""
    return any(start <= place.start / 1e6 and place.stop / 1e6 <= stop for start, stop in holes)


def nothing(cluster: Cluster) -> Extent:
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
