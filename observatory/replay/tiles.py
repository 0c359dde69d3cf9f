"""Tiles: those that are closed are built once and kept, the others are made on the fly.

Up to the level BASE they are made of rows, above it of the two below them: what a tile costs doesn't depend
on how many rows it covers. docs/architecture.md, "Time, levels and tiles".
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import psycopg

from observatory.clusters.models import Cluster
from observatory.replay.base import of_rows
from observatory.replay.layers import Layer
from observatory.replay.levels import MAXIMUM_LEVEL, Place
from observatory.replay.pyramid import of_children
from observatory.store import tiles as kept_tiles
from observatory.store import timeline
from observatory.store.extents import Extent
from observatory.store.growth import SETTLING
from observatory.wire.blocks import decode, encode

BASE = 16
"""tiles of 34 s"""
MOST_AT_TOP = 4
"""tiles of the lowest level that is made for a look at the whole cluster"""


@dataclass(frozen=True, slots=True)
class Tile:
    """Encoded blocks, the extent's first. A closed tile never changes while the extent's version stays."""

    body: bytes
    version: int
    closed: bool


def tile(connection: psycopg.Connection, cluster: Cluster, layer: Layer, place: Place) -> Tile:
    """The tile of `layer` at `place`: a kept one, or built now."""
    if place.level > BASE:
        prepare(connection, cluster, layer, place)
    return _tile(connection, cluster, layer, place)


def prepare(connection: psycopg.Connection, cluster: Cluster, layer: Layer, place: Place) -> int:
    """Builds and keeps what is closed at `place` and below it and isn't kept, from below; how many tiles."""
    extent = timeline.extent(connection, cluster.pk)
    if (
        extent is None
        or not _overlaps(place, extent)
        or kept_tiles.is_kept(connection, cluster.pk, str(layer), place.level, place.index)
    ):
        return 0
    built = 0
    if place.level > BASE:
        built += sum(prepare(connection, cluster, layer, child) for child in place.children)
    if is_closed(place, extent.committed):
        _tile(connection, cluster, layer, place)
        built += 1
    return built


def prepare_all(connection: psycopg.Connection, cluster: Cluster, layer: Layer) -> int:
    """Builds what a look at the whole cluster needs: what is closed, of an ended cluster all; how many."""
    extent = timeline.extent(connection, cluster.pk)
    if extent is None or not extent.first:
        return 0
    top = whole(extent)
    built = sum(prepare(connection, cluster, layer, place) for place in top)
    if not cluster.is_live:
        for place in top:
            _tile(connection, cluster, layer, place)
    return built


def whole(extent: Extent) -> list[Place]:
    """The tiles that cover all of a cluster, of the lowest level on which they are few."""
    first, last = round(extent.first * 1e6), round(extent.last * 1e6)
    for level in range(BASE, MAXIMUM_LEVEL + 1):
        start, stop = Place.at(level, first).index, Place.at(level, last).index
        if stop - start < MOST_AT_TOP:
            break
    return [Place(level, index) for index in range(start, stop + 1)]


def _tile(connection: psycopg.Connection, cluster: Cluster, layer: Layer, place: Place) -> Tile:
    with timeline.snapshot(connection):
        extent = timeline.extent(connection, cluster.pk) or nothing(cluster)
        builder = _Builder(connection, cluster, extent)
        body = builder.body(layer, place)
    for made, content in builder.made.items():
        kept_tiles.keep(connection, cluster.pk, str(layer), made.level, made.index, extent.version, content)
    return Tile(body, extent.version, is_closed(place, extent.committed))


class _Builder:
    """Builds a tile and what it needs below it, in a snapshot; keeps nothing yet."""

    def __init__(self, connection: psycopg.Connection, cluster: Cluster, extent: Extent) -> None:
        self.connection = connection
        self.cluster = cluster
        self.extent = extent
        self.head = extent_block(extent, cluster)
        self.made: dict[Place, bytes] = {}
        """what can be kept"""

    def body(self, layer: Layer, place: Place) -> bytes:
        where = (self.cluster.pk, str(layer), place.level, place.index)
        found = kept_tiles.kept(self.connection, *where, self.extent.version)
        if found is not None and self._holds(found, place):
            return found
        body = self.head + self._blocks(layer, place)
        if is_closed(place, self.extent.committed) or not self.cluster.is_live:
            self.made[place] = body
        return body

    def _blocks(self, layer: Layer, place: Place) -> bytes:
        if place.level <= BASE:
            return of_rows(self.connection, self.cluster, layer, place)
        children = [child for child in place.children if _overlaps(child, self.extent)]
        return of_children(layer, place, [(child, self.body(layer, child)) for child in children])

    def _holds(self, body: bytes, place: Place) -> bool:
        """Whether a kept tile is still true: it was closed when it was built, or nothing was stored since."""
        return body.startswith(self.head) or is_closed(place, next(decode(body)).meta["committed"])


def is_closed(place: Place, committed: float) -> bool:
    """docs/architecture.md, "Time, levels and tiles"."""
    return place.stop / 1e6 < committed - SETTLING


def _overlaps(place: Place, extent: Extent) -> bool:
    return place.stop / 1e6 > extent.first and place.start / 1e6 <= extent.last


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
