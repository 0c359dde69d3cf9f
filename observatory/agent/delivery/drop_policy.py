"""What goes first where there is no room: the least important parts of batches, the oldest of them first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from observatory.wire.kinds import Importance


class DropPolicy:
    """Keeps the books of batches by sequence; their parts are elsewhere. Not for two threads at once."""

    def __init__(self) -> None:
        self.bytes = 0
        """of parts and heads"""
        self._parts: dict[int, dict[Importance, int]] = {}
        self._heads: dict[int, int] = {}
        self._queues: dict[Importance, deque[int]] = {importance: deque() for importance in Importance}

    def __len__(self) -> int:
        return len(self._heads)

    def __contains__(self, sequence: int) -> bool:
        return sequence in self._heads

    @property
    def oldest(self) -> int | None:
        return next(iter(self._heads), None)

    def add(self, sequence: int, head: int, parts: Mapping[Importance, int]) -> None:
        """Sizes in bytes; sequences come in order."""
        self._heads[sequence] = head
        self._parts[sequence] = dict(parts)
        for importance in parts:
            self._queues[importance].append(sequence)
        self.bytes += head + sum(parts.values())

    def resize(self, sequence: int, head: int) -> None:
        self.bytes += head - self._heads[sequence]
        self._heads[sequence] = head

    def remove(self, sequence: int) -> None:
        if sequence in self:
            self.bytes -= self._heads.pop(sequence) + sum(self._parts.pop(sequence).values())

    def is_empty(self, sequence: int) -> bool:
        """Whether nothing is left of the batch but its head."""
        return not self._parts[sequence]

    def make(self, limit: int, kept: int | None) -> Iterator[tuple[int, Importance]]:
        """Gives up parts until all fit into `limit` bytes; the batch `kept` is being sent and stays whole."""
        for importance in sorted(Importance):
            queue = self._queues[importance]
            stays = False
            while queue and self.bytes > limit:
                sequence = queue.popleft()
                if sequence not in self or importance not in self._parts[sequence]:
                    continue
                if sequence == kept:
                    stays = True
                    continue
                self.bytes -= self._parts[sequence].pop(importance)
                yield sequence, importance
            if stays and kept is not None:
                queue.appendleft(kept)
