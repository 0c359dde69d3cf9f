"""Makes batches of rows: encoded and compressed apart by importance, for what counts less goes first."""

from __future__ import annotations

import gzip
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from observatory.wire.batches import encode_head, encode_rows
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS, MAXIMUM_LONG_LENGTH, Importance, Kind
from observatory.wire.records import is_time

Row = tuple[Any, ...]
LEVEL = 1
"""of compression: the rest of a cluster's processor is its own"""
ROWS = 10_000
"""of one kind in a batch"""
LARGEST = 2 * 2**20
"""bytes of a kind in a batch before compression, unless one row is larger; of all kinds at most twice that"""
HEAD_SIZE = 1024
"""bytes that a batch takes in memory beside its parts, about"""
MOST = 2**32 - 1
BROKEN = "broken"


@dataclass(frozen=True)
class EncodedRows:
    """Records of one kind, encoded."""

    kind: Kind
    block: bytes
    count: int
    first: float
    """time of the oldest"""
    last: float


@dataclass(frozen=True)
class Part:
    """The records of one importance in a batch, encoded and compressed."""

    data: bytes
    counts: dict[str, tuple[int, float, float]]
    """how many of each kind, and the times of the oldest and the newest"""


@dataclass(frozen=True)
class Batch:
    """Never changes: one thread may send what another one cuts."""

    head: Head
    parts: Mapping[Importance, Part]
    dropped: Sequence[Row] = ()
    """rows of kind `dropped`"""

    @property
    def sequence(self) -> int:
        return self.head.sequence

    @property
    def sizes(self) -> dict[Importance, int]:
        """bytes"""
        return {importance: len(part.data) for importance, part in self.parts.items()}

    def body(self) -> bytes:
        """gzip's members one behind the other are gzip."""
        members = [gzip.compress(encode_head(self.head), LEVEL)]
        members += [part.data for _, part in sorted(self.parts.items())]
        if self.dropped:
            members.append(gzip.compress(encode_rows(KINDS["dropped"], self.dropped), LEVEL))
        return b"".join(members)

    def without(self, importance: Importance, reason: str) -> Batch:
        """The same without one part; what was in it is told as dropped."""
        if importance not in self.parts:
            return self
        kept = {other: part for other, part in self.parts.items() if other != importance}
        lost = [
            (first, last, kind, count, reason)
            for kind, (count, first, last) in self.parts[importance].counts.items()
        ]
        return replace(self, parts=kept, dropped=merged([*self.dropped, *lost]))

    def telling(self, dropped: Iterable[Row]) -> Batch:
        return replace(self, dropped=merged([*self.dropped, *dropped]))


def merged(dropped: Iterable[Row]) -> list[Row]:
    """Rows of kind `dropped`, one for each kind and reason: they stay few however much is dropped."""
    found: dict[tuple[str, str], tuple[float, float, int]] = {}
    for first, last, kind, count, reason in dropped:
        known = found.get((kind, reason), (first, last, 0))
        found[kind, reason] = (min(known[0], first), max(known[1], last), min(MOST, known[2] + count))
    return [(first, last, kind, count, reason) for (kind, reason), (first, last, count) in found.items()]


def lost(kind: Kind, rows: Sequence[Row], reason: str) -> Row:
    """A row of kind `dropped` in the place of `rows`."""
    try:
        first, last = _times(kind, rows)
    except Exception:  # the rows are what is wrong
        first = last = time.time()
    return (first, last, kind.name, len(rows), reason)


def batch_of(head: Head, pieces: Iterable[EncodedRows], dropped: Iterable[Row]) -> Batch:
    """Compresses; that doesn't hold the interpreter."""
    blocks: dict[Importance, list[bytes]] = {}
    counts: dict[Importance, dict[str, tuple[int, float, float]]] = {}
    for piece in pieces:
        importance = piece.kind.importance
        blocks.setdefault(importance, []).append(piece.block)
        counts.setdefault(importance, {})[piece.kind.name] = (piece.count, piece.first, piece.last)
    parts = {
        importance: Part(gzip.compress(b"".join(found), LEVEL), counts[importance])
        for importance, found in blocks.items()
    }
    return Batch(head, parts, merged(dropped))


def divided(rows: Mapping[str, list[Row]], dropped: list[Row]) -> Iterator[list[EncodedRows]]:
    """What goes into each batch: rows by kind in order, each kind once a batch, within LARGEST.

    Rows that can't be encoded go to `dropped`, and so do those that tell of drops already.
    """
    waiting = deque(_pieces(KINDS[name], found, dropped) for name, found in rows.items() if name != "dropped")
    for row in rows.get("dropped", ()):
        try:
            dropped[:] = merged([*dropped, row])
        except Exception:  # a row that isn't one
            dropped.append(lost(KINDS["dropped"], [row], BROKEN))
    while waiting:
        pieces: list[EncodedRows] = []
        size = 0
        for _ in range(len(waiting)):
            if size >= LARGEST:
                break
            source = waiting.popleft()
            piece = next(source, None)
            if piece is not None:
                pieces.append(piece)
                size += len(piece.block)
                waiting.append(source)
        if pieces:
            yield pieces


def _pieces(kind: Kind, rows: list[Row], dropped: list[Row]) -> Iterator[EncodedRows]:
    for part in _parts(kind, rows):
        yield from _encoded(kind, part, dropped)


def _parts(kind: Kind, rows: list[Row]) -> Iterator[list[Row]]:
    """At most ROWS each, and of kinds with long texts not many more than LARGEST characters."""
    long = [index for index, field in enumerate(kind.fields) if field.type.limit >= MAXIMUM_LONG_LENGTH]
    if not long:
        for start in range(0, len(rows), ROWS):
            yield rows[start : start + ROWS]
        return
    part: list[Row] = []
    size = 0
    for row in rows:
        part.append(row)
        for index in long:
            value = row[index]
            if value.__class__ is str:
                size += min(len(value), MAXIMUM_LONG_LENGTH)
        if size > LARGEST // 2 or len(part) == ROWS:
            yield part
            part, size = [], 0
    if part:
        yield part


def _encoded(kind: Kind, rows: list[Row], dropped: list[Row]) -> Iterator[EncodedRows]:
    """One piece, or where that is too large or a row can't be encoded, those of both halves."""
    try:
        block = encode_rows(kind, rows)
        first, last = _times(kind, rows)
        if len(block) <= LARGEST or len(rows) == 1:
            yield EncodedRows(kind, block, len(rows), first, last)
            return
    except Exception:  # a row that a hook made of what nobody expected
        if len(rows) == 1:
            dropped[:] = merged([*dropped, lost(kind, rows, BROKEN)])
            return
    middle = len(rows) // 2
    yield from _encoded(kind, rows[:middle], dropped)
    yield from _encoded(kind, rows[middle:], dropped)


def _times(kind: Kind, rows: Sequence[Row]) -> tuple[float, float]:
    """Of the oldest and the newest row. Raises ValueError where they are no times."""
    index = kind.time_index
    times = [row[index] for row in rows]
    first, last = float(min(times)), float(max(times))
    if not (is_time(first) and is_time(last)):
        raise ValueError("the server wouldn't take a record of that time, nor one that tells of its loss")
    return first, last
