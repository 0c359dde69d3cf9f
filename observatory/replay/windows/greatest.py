"""The records of a window with the greatest values: of few from rows, of many from bins that have them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy.typing as npt
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles.builder import BASE_LEVEL, covering_tile_ids, get_tile
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.replay.tiles.sums import SUM_BINS_SHIFT, bin_width, read_sums
from observatory.store.queries.sums.sum_layer import Columns, SumLayer

FEW_ROWS = 20_000
"""that are read themselves"""
MOST_PLACES = 200
"""bins that are looked into"""

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Wanted(Generic[Record]):
    """Which records are wanted, and how they are found."""

    layer: SumLayer
    greatest: str
    """its column with the greatest value of a bin"""
    can_have: Callable[[Columns], npt.NDArray[Any]]
    """which of its rows can stand for wanted records"""
    has_more: Callable[[int, int, int], bool]
    """whether over so many rows are read: (start, stop, number)"""
    read: Callable[[int, int], list[Record]]
    """those of [start, stop) with the greatest values"""
    value: Callable[[Record], float]
    start: Callable[[Record], float]


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """A part of the window. Those with the greatest value come first."""

    order: float
    """minus the greatest value"""
    start: int
    stop: int
    level: int = field(compare=False)
    """of the tile that has this part as a bin"""
    rows: float = field(compare=False)
    """that are read to find records in it"""


def greatest(
    connection: psycopg.Connection, scope: Scope, wanted: Wanted[Record], start: int, stop: int, most: int
) -> list[Record]:
    """Return the records of [start, stop) (microseconds) with the greatest values, the greatest first."""
    if start >= stop:
        return []
    if not wanted.has_more(start, stop, FEW_ROWS):
        return _ordered(wanted, wanted.read(start, stop), most)
    places = [
        place
        for tile_id in covering_tile_ids(start / 1e6, (stop - 1) / 1e6)
        for place in _places(connection, scope, wanted, tile_id, start, stop)
    ]
    heapq.heapify(places)
    found: list[Record] = []
    for _ in range(MOST_PLACES):
        if not places or (len(found) == most and wanted.value(found[-1]) >= -places[0].order):
            break
        place = heapq.heappop(places)
        if place.level > BASE_LEVEL and place.rows > FEW_ROWS:
            tile_id = TileId.at(max(place.level - SUM_BINS_SHIFT, BASE_LEVEL), place.start)
            for part in _places(connection, scope, wanted, tile_id, place.start, place.stop):
                heapq.heappush(places, part)
        else:
            found = _ordered(wanted, found + wanted.read(place.start, place.stop), most)
    return found


def _places(
    connection: psycopg.Connection,
    scope: Scope,
    wanted: Wanted[Record],
    tile_id: TileId,
    start: int,
    stop: int,
) -> Iterator[_Place]:
    """Yield the bins of a tile that can have wanted records, clipped to [start, stop)."""
    body = get_tile(connection, Scope(scope.cluster), Layer(wanted.layer.name), tile_id).body
    rows = read_sums(wanted.layer, body)
    width = bin_width(tile_id)
    can_have = wanted.can_have(rows)
    for bin in sorted(set(rows["bin"][can_have].tolist())):
        first = tile_id.start + bin * width
        begin, end = max(first, start), min(first + width, stop)
        if begin < end:
            here = rows["bin"] == bin
            value = float(rows[wanted.greatest][here & can_have].max())
            yield _Place(-value, begin, end, tile_id.level, float(rows["count"][here].sum()))


def _ordered(wanted: Wanted[Record], records: list[Record], most: int) -> list[Record]:
    return sorted(records, key=lambda one: (-wanted.value(one), wanted.start(one)))[:most]
