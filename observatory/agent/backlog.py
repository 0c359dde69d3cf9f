"""Batches that aren't acknowledged yet, oldest first: in memory, then on disk, bounded both."""

from __future__ import annotations

import gzip
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from observatory.agent.spool import Spool
from observatory.wire.batches import Head, encode_head, encode_rows
from observatory.wire.kinds import KINDS, Importance

Row = tuple[Any, ...]
LEVEL = 1
"""of compression: the rest of a cluster's processor is its own"""


@dataclass
class Part:
    """The records of one importance in a batch, encoded and compressed."""

    data: bytes
    counts: dict[str, tuple[int, float, float]]
    """how many of each kind, and the times of the first and the last"""


@dataclass
class Batch:
    head: Head
    parts: dict[Importance, Part] = field(default_factory=dict)
    dropped: list[Row] = field(default_factory=list)
    """rows of kind `dropped`"""

    @property
    def size(self) -> int:
        """bytes"""
        return sum(len(part.data) for part in self.parts.values())

    def body(self) -> bytes:
        """gzip's members one behind the other are gzip."""
        members = [gzip.compress(encode_head(self.head), LEVEL)]
        members += [part.data for _, part in sorted(self.parts.items())]
        if self.dropped:
            members.append(gzip.compress(encode_rows(KINDS["dropped"], self.dropped), LEVEL))
        return b"".join(members)

    def drop(self, importance: Importance, reason: str) -> None:
        """Forgets one part; what was in it is told as dropped."""
        part = self.parts.pop(importance, None)
        if part is not None:
            for kind, (count, first, last) in part.counts.items():
                self.dropped.append((first, last, kind, count, reason))

    def last(self) -> Batch:
        return replace(self, head=replace(self.head, is_last=True))


def batch_of(head: Head, rows: Mapping[str, list[Row]], dropped: list[Row]) -> Batch:
    """Encodes rows by kind. A kind that can't be encoded is dropped whole."""
    batch = Batch(head, {}, list(dropped))
    encoded: dict[Importance, tuple[list[bytes], dict[str, tuple[int, float, float]]]] = {}
    for name, found in rows.items():
        kind = KINDS[name]
        if name == "dropped":
            batch.dropped += found
            continue
        first, last = float(found[0][kind.time_index]), float(found[-1][kind.time_index])
        try:
            block = encode_rows(kind, found)
        except Exception:  # a row that a hook made of what nobody expected
            batch.dropped.append((first, last, name, len(found), "broken"))
            continue
        blocks, counts = encoded.setdefault(kind.importance, ([], {}))
        blocks.append(block)
        counts[name] = (len(found), first, last)
    for importance, (blocks, counts) in encoded.items():
        batch.parts[importance] = Part(gzip.compress(b"".join(blocks), LEVEL), counts)
    return batch


class Backlog:
    """For one thread that adds and one that takes."""

    def __init__(self, spool: Spool, memory_limit: int) -> None:
        self.spool = spool
        self.memory_limit = memory_limit
        self._batches: deque[Batch] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._batches) + len(self.spool)

    def add(self, batch: Batch) -> None:
        with self._lock:
            self._batches.append(batch)
            self._bytes += batch.size
            while self._bytes > self.memory_limit and self._batches:
                self._spill()

    def first(self) -> Batch | None:
        """The oldest one; it stays until it is `done`."""
        with self._lock:
            return self.spool.first() or (self._batches[0] if self._batches else None)

    def done(self, batch: Batch) -> None:
        """It is acknowledged, or will never be."""
        with self._lock:
            if self._batches and self._batches[0].head.sequence == batch.head.sequence:
                self._bytes -= self._batches.popleft().size
            else:
                self.spool.remove(batch.head.sequence)

    def keep(self) -> None:
        """Puts all on disk: this process ends."""
        with self._lock:
            while self._batches:
                self._spill()

    def _spill(self) -> None:
        batch = self._batches.popleft()
        self._bytes -= batch.size
        self.spool.add(batch)
