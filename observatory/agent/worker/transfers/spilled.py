"""Reports which results of a worker are on disk, as rows of kind `spill`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import nlargest
from itertools import islice
from time import monotonic, time
from typing import Any

INTERVAL = 1.0
MOST_ROWS = 100
"""at a time: the largest first, the others later"""
MOST_KEYS = 10_000
"""on disk at once that are reported"""


class Spilled:
    """Compares the keys on disk with those that it reported last."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self._reported: dict[Any, int] = {}
        """sizes by key"""
        self._looked_at = float("-inf")

    @property
    def is_known(self) -> bool:
        """Whether they are known: those of Dask's own SpillBuffer, and of a worker that never spills."""
        return self._sizes() is not None or type(self.worker.data) is dict

    def rows(self, delay: float) -> Iterator[tuple[Any, ...]]:
        """New rows. `delay`: seconds that the scheduler's clock is ahead of this one."""
        if monotonic() - self._looked_at < INTERVAL:
            return
        self._looked_at = monotonic()
        now = time() + delay
        for key, nbytes in nlargest(MOST_ROWS, self._changes(), key=self._weight):
            if nbytes:
                self._reported[key] = nbytes
            else:
                del self._reported[key]
            yield now, key, self.worker.address, float(nbytes)

    def _changes(self) -> Iterator[tuple[Any, int]]:
        sizes = self._sizes() or {}
        for key in self._reported.keys() - sizes.keys():
            yield key, 0
        is_full = len(self._reported) >= MOST_KEYS
        for key, size in islice(sizes.items(), MOST_KEYS):
            known = self._reported.get(key)
            if known != size.disk and not (known is None and is_full):
                yield key, size.disk

    def _weight(self, change: tuple[Any, int]) -> int:
        key, nbytes = change
        return nbytes or self._reported[key]

    def _sizes(self) -> Mapping[Any, Any] | None:
        return getattr(getattr(self.worker.data, "_slow_uncached", None), "weight_by_key", None)
