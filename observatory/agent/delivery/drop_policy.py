"""Drop policy of a backlog over its limit: least important first, then oldest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from observatory.wire.kind import Importance


class DropPolicy:
    """Tracks the sizes of batches by sequence number and chooses the parts to drop. Not thread-safe.

    A batch has a head and at most one part for each importance. Only sizes are kept here.
    """

    def __init__(self) -> None:
        self.bytes = 0
        """Sum of the sizes of all heads and parts."""
        self._parts: dict[int, dict[Importance, int]] = {}
        self._heads: dict[int, int] = {}
        self._queues: dict[Importance, deque[int]] = {importance: deque() for importance in Importance}

    def __len__(self) -> int:
        return len(self._heads)

    def __contains__(self, sequence: int) -> bool:
        return sequence in self._heads

    @property
    def oldest(self) -> int | None:
        """Sequence number of the oldest batch."""
        return next(iter(self._heads), None)

    def add(self, sequence: int, head: int, parts: Mapping[Importance, int]) -> None:
        """Adds a batch with the sizes of its head and parts in bytes. Call it in order of `sequence`."""
        self._heads[sequence] = head
        self._parts[sequence] = dict(parts)
        for importance in parts:
            self._queues[importance].append(sequence)
        self.bytes += head + sum(parts.values())

    def size_of(self, sequence: int) -> int:
        """Bytes of a batch."""
        return self._heads[sequence] + sum(self._parts[sequence].values())

    def resize(self, sequence: int, head: int) -> None:
        """Sets the size of a batch's head."""
        self.bytes += head - self._heads[sequence]
        self._heads[sequence] = head

    def remove(self, sequence: int) -> None:
        if sequence in self:
            self.bytes -= self.size_of(sequence)
            del self._heads[sequence], self._parts[sequence]

    def is_empty(self, sequence: int) -> bool:
        """Whether all parts of the batch were dropped."""
        return not self._parts[sequence]

    def drop(self, limit: int, sending: int | None) -> Iterator[tuple[int, Importance]]:
        """Drops parts until the rest fits into `limit` bytes, and yields (sequence, importance) of each.

        The batch `sending` is being sent and is left whole.
        """
        for importance in sorted(Importance):
            queue = self._queues[importance]
            is_skipped = False
            while queue and self.bytes > limit:
                sequence = queue.popleft()
                if sequence not in self or importance not in self._parts[sequence]:
                    continue
                if sequence == sending:
                    is_skipped = True
                    continue
                self.bytes -= self._parts[sequence].pop(importance)
                yield sequence, importance
            if is_skipped and sending is not None:
                queue.appendleft(sending)
