"""Has tiles of archived clusters that are not cached made from rows that a scan finds in files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles.drawn_samples import time_before
from observatory.replay.tiles.each_worker import METRICS
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.store.archive.scans.conditions import AtLeast, Condition, OneOf
from observatory.store.reading.scanning import bring_back_meanwhile, scanned, scanned_kinds
from observatory.store.times import from_microseconds
from observatory.wire.layers import EVENTS, LAYERS, PREFIXES, PROFILE, SPANS


@contextmanager
def scanned_rows(
    connection: psycopg.Connection, scope: Scope, layer: Layer, tile_id: TileId
) -> Iterator[None]:
    """Have `tile_from_rows` of the block, for this tile and those below it, find archived rows in files.

    Sums are of several kinds, which come back. Needs a snapshot. Raises NoPlace, ArchiveError, AskerGone and
    psycopg.Error.
    """
    start, stop = scope.clip(tile_id)
    if scope.cluster.is_live or start == stop or layer.is_sum:
        yield
        return
    kind, condition = _rows_of(scope, layer, start, stop)
    with scanned(connection, scope.cluster.pk, {kind: condition}):
        kinds = scanned_kinds(connection)
        yield
    bring_back_meanwhile(scope.cluster.pk, kinds)


def kind_of(layer: Layer) -> str:
    """Return the kind of records that tiles of a layer are made from, which isn't one of sums."""
    return {SPANS: "span", PREFIXES: "span", EVENTS: "event", PROFILE: "profile"}.get(layer.name, "sample")


def _rows_of(scope: Scope, layer: Layer, start: int, stop: int) -> tuple[str, Condition]:
    kind, first, end = kind_of(layer), from_microseconds(start), from_microseconds(stop)
    if kind == "span":
        return kind, Condition((AtLeast("stop", first),), stop=end)
    if kind != "sample":
        return kind, Condition((), first, end)
    metrics = METRICS[layer.name] if layer.is_each else LAYERS[layer.name]
    tests = (OneOf(("metric",), frozenset(metrics)),)
    return kind, Condition(tests, from_microseconds(start - time_before(scope, metrics)), end)
