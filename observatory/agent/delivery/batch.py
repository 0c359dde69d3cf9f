"""Makes batches of rows. Each importance is compressed separately, so that it can be dropped."""

from __future__ import annotations

import gzip
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from observatory.wire.batches import encode_head, encode_rows
from observatory.wire.head import Head
from observatory.wire.kind import MAXIMUM_LONG_LENGTH, Importance, Kind
from observatory.wire.kinds import KINDS
from observatory.wire.records import is_time

Row = tuple[Any, ...]
LEVEL = 1
"""of compression: the fastest, to use little of the cluster's CPU time"""
ROWS = 10_000
"""most rows of one kind in a batch"""
LARGEST = 2 * 2**20
"""most bytes of a kind in a batch before compression, unless one row is larger; twice that for all kinds"""
HEAD_SIZE = 1024
"""approximate bytes of a batch in memory without its parts"""
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
    """number of records of each kind, and the times of the oldest and the newest"""


@dataclass(frozen=True)
class Batch:
    """Immutable: one thread may send it while another makes a smaller one of it."""

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
        """The body of the request: concatenated gzip members."""
        members = [gzip.compress(encode_head(self.head), LEVEL)]
        members += [part.data for _, part in sorted(self.parts.items())]
        if self.dropped:
            members.append(gzip.compress(encode_rows(KINDS["dropped"], self.dropped), LEVEL))
        return b"".join(members)

    def without(self, importance: Importance, reason: str) -> Batch:
        """The same without one part, whose records are reported as dropped."""
        if importance not in self.parts:
            return self
        kept = {other: part for other, part in self.parts.items() if other != importance}
        lost = [
            (first, last, kind, count, reason)
            for kind, (count, first, last) in self.parts[importance].counts.items()
        ]
        return replace(self, parts=kept, dropped=merged([*self.dropped, *lost]))

    def reporting(self, dropped: Iterable[Row]) -> Batch:
        return replace(self, dropped=merged([*self.dropped, *dropped]))


def merged(dropped: Iterable[Row]) -> list[Row]:
    """Rows of kind `dropped`, merged to one for each kind and reason."""
    found: dict[tuple[str, str], tuple[float, float, int]] = {}
    for first, last, kind, count, reason in dropped:
        known = found.get((kind, reason), (first, last, 0))
        found[kind, reason] = (min(known[0], first), max(known[1], last), min(MOST, known[2] + count))
    return [(first, last, kind, count, reason) for (kind, reason), (first, last, count) in found.items()]


def lost(kind: Kind, rows: Sequence[Row], reason: str) -> Row:
    """A row of kind `dropped` in the place of `rows`."""
    try:
        first, last = _times(kind, rows)
    except Exception:  # the rows may be invalid
        first = last = time.time()
    return (first, last, kind.name, len(rows), reason)


def batch_of(head: Head, pieces: Iterable[EncodedRows], dropped: Iterable[Row]) -> Batch:
    """Compresses the pieces, which releases the interpreter."""
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
    """Divides rows among batches: in order, each kind once per batch, within LARGEST.

    Rows that cannot be encoded are reported in `dropped`, and earlier reports are added to it.
    """
    waiting = deque(_pieces(KINDS[name], found, dropped) for name, found in rows.items() if name != "dropped")
    for row in rows.get("dropped", ()):
        try:
            dropped[:] = merged([*dropped, row])
        except Exception:  # not a row of the kind
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
    """At most ROWS each, and about LARGEST / 2 characters of kinds with long texts."""
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
    """One piece; or the pieces of both halves, if it is too large or a row cannot be encoded."""
    try:
        block = encode_rows(kind, rows)
        first, last = _times(kind, rows)
        if len(block) <= LARGEST or len(rows) == 1:
            yield EncodedRows(kind, block, len(rows), first, last)
            return
    except Exception:  # a hook made a row of unexpected values
        if len(rows) == 1:
            dropped[:] = merged([*dropped, lost(kind, rows, BROKEN)])
            return
    middle = len(rows) // 2
    yield from _encoded(kind, rows[:middle], dropped)
    yield from _encoded(kind, rows[middle:], dropped)


def _times(kind: Kind, rows: Sequence[Row]) -> tuple[float, float]:
    """The times of the oldest and the newest row. Raises ValueError if they are no times."""
    index = kind.time_index
    times = [row[index] for row in rows]
    first, last = float(min(times)), float(max(times))
    if not (is_time(first) and is_time(last)):
        raise ValueError("the server would refuse a record of that time, and a report of its loss")
    return first, last
