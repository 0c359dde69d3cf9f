"""Makes batches of rows. Each importance is encoded and compressed apart, so that it can be dropped alone."""

from __future__ import annotations

import gzip
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from observatory.agent.task_names import split_key
from observatory.wire.batches import encode_head, encode_rows
from observatory.wire.dropped_records import DropReason
from observatory.wire.head import AgentStatus, Head
from observatory.wire.kind import MAXIMUM_LONG_LENGTH, Importance, Kind
from observatory.wire.kinds import KINDS
from observatory.wire.records import is_time

Row = tuple[Any, ...]
LEVEL = 1
"""Compression level: fast, to leave the scheduler's CPU to the scheduler."""
ROWS = 10_000
"""Most rows of one kind in a batch."""
LARGEST = 2 * 2**20
"""Most uncompressed bytes of one kind in a batch, unless a single row is larger. All kinds: twice that."""
HEAD_SIZE = 1024
"""Approximate bytes of memory that a batch takes beside its parts."""
MOST_DROPPED = 2**32 - 1
BROKEN = DropReason.BROKEN.value
NO_STATUS = AgentStatus()
OVER = AgentStatus(is_over=True)
"""of an agent whose spool another process sends"""


@dataclass(frozen=True)
class EncodedRows:
    """Rows of one kind, encoded as a block."""

    kind: Kind
    block: bytes
    count: int
    first: float
    """Time of the oldest row."""
    last: float
    """Time of the newest row."""


@dataclass(frozen=True)
class BatchPart:
    """The rows of one importance in a batch, encoded and compressed."""

    data: bytes
    counts: dict[str, tuple[int, float, float]]
    """By kind: number of rows, time of the oldest, time of the newest."""


@dataclass(frozen=True)
class AgentBatch:
    """Immutable, so that one thread can send a batch while another drops parts of it."""

    head: Head
    parts: Mapping[Importance, BatchPart]
    dropped: Sequence[Row] = ()
    """Rows of kind `dropped`."""

    @property
    def sequence(self) -> int:
        return self.head.sequence

    @property
    def sizes(self) -> dict[Importance, int]:
        """Bytes of each part."""
        return {importance: len(part.data) for importance, part in self.parts.items()}

    def body(self, status: AgentStatus = NO_STATUS) -> bytes:
        """The body of the request: concatenated gzip members, which are valid gzip.

        `status`: of the agent now, which may be long after it made the batch.
        """
        members = [gzip.compress(encode_head(replace(self.head, status=status)), LEVEL)]
        members += [part.data for _, part in sorted(self.parts.items())]
        if self.dropped:
            members.append(gzip.compress(encode_rows(KINDS["dropped"], self.dropped), LEVEL))
        return b"".join(members)

    def without(self, importance: Importance, reason: str) -> AgentBatch:
        """A copy without one part, whose rows are counted as dropped."""
        if importance not in self.parts:
            return self
        kept = {other: part for other, part in self.parts.items() if other != importance}
        lost = [
            (first, last, kind, count, reason)
            for kind, (count, first, last) in self.parts[importance].counts.items()
        ]
        return replace(self, parts=kept, dropped=merge_dropped([*self.dropped, *lost]))

    def with_dropped(self, dropped: Iterable[Row]) -> AgentBatch:
        """A copy that also reports these rows of kind `dropped`."""
        return replace(self, dropped=merge_dropped([*self.dropped, *dropped]))


def merge_dropped(dropped: Iterable[Row]) -> list[Row]:
    """Merges rows of kind `dropped` into one for each kind and reason."""
    found: dict[tuple[str, str], tuple[float, float, int]] = {}
    for first, last, kind, count, reason in dropped:
        known = found.get((kind, reason), (first, last, 0))
        found[kind, reason] = (min(known[0], first), max(known[1], last), min(MOST_DROPPED, known[2] + count))
    return [(first, last, kind, count, reason) for (kind, reason), (first, last, count) in found.items()]


def dropped_row(kind: Kind, rows: Sequence[Row], reason: str) -> Row:
    """The row of kind `dropped` that stands for `rows`."""
    try:
        first, last = _times(kind, rows)
    except Exception:  # the rows are malformed
        first = last = time.time()
    return (first, last, kind.name, len(rows), reason)


def make_batch(head: Head, pieces: Iterable[EncodedRows], dropped: Iterable[Row]) -> AgentBatch:
    """Compresses encoded rows into a batch. Compression releases the GIL."""
    blocks: dict[Importance, list[bytes]] = {}
    counts: dict[Importance, dict[str, tuple[int, float, float]]] = {}
    for piece in pieces:
        importance = piece.kind.importance
        blocks.setdefault(importance, []).append(piece.block)
        counts.setdefault(importance, {})[piece.kind.name] = (piece.count, piece.first, piece.last)
    parts = {
        importance: BatchPart(gzip.compress(b"".join(found), LEVEL), counts[importance])
        for importance, found in blocks.items()
    }
    return AgentBatch(head, parts, merge_dropped(dropped))


def divide(rows: Mapping[str, list[Row]], dropped: list[Row]) -> Iterator[list[EncodedRows]]:
    """Divides rows by kind into batches within the limits, each kind at most once in a batch.

    Rows that cannot be encoded are counted in `dropped`, to which rows of kind `dropped` are added too.
    """
    waiting = deque(_pieces(KINDS[name], found, dropped) for name, found in rows.items() if name != "dropped")
    for row in rows.get("dropped", ()):
        try:
            dropped[:] = merge_dropped([*dropped, row])
        except Exception:  # a malformed row
            dropped.append(dropped_row(KINDS["dropped"], [row], BROKEN))
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
    """Splits rows into lists of at most ROWS; of kinds with long texts, about LARGEST / 2 characters."""
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
    """Encodes rows; splits them in halves where the block is too large or a row cannot be encoded."""
    try:
        block = encode_rows(kind, rows, split_key)
        first, last = _times(kind, rows)
        if len(block) <= LARGEST or len(rows) == 1:
            yield EncodedRows(kind, block, len(rows), first, last)
            return
    except Exception:  # a hook appended an unexpected value
        if len(rows) == 1:
            dropped[:] = merge_dropped([*dropped, dropped_row(kind, rows, BROKEN)])
            return
    middle = len(rows) // 2
    yield from _encoded(kind, rows[:middle], dropped)
    yield from _encoded(kind, rows[middle:], dropped)


def _times(kind: Kind, rows: Sequence[Row]) -> tuple[float, float]:
    """Times of the oldest and the newest row. Raises ValueError where a time is not valid."""
    index = kind.time_index
    times = [row[index] for row in rows]
    first, last = float(min(times)), float(max(times))
    if not (is_time(first) and is_time(last)):
        raise ValueError("time out of range: the server would refuse these rows")
    return first, last
