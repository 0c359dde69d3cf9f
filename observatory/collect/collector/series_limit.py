"""The limit on the number of series of a target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from observatory.wire.records import Series

MAXIMUM_REFUSED = 100_000
"""Most refused series that are counted."""
ENTRY, WORKER = 100, 500
"""Bytes of memory of a series, and of a worker beside its series."""


class SeriesLimit:
    """Admits series up to a limit. Admitted series stay, until their worker leaves."""

    def __init__(self, limit: int, known: Iterable[Series] = ()) -> None:
        self.limit = limit
        self.known: defaultdict[str, set[int]] = defaultdict(set)
        """Hashes of the admitted series by the address of their worker; "" for the cluster's own."""
        for series in known:
            self.known[series.worker].add(hash(series))
        self.count = sum(map(len, self.known.values()))
        """How many series are admitted."""
        self.refused: set[int] = set()
        """Hashes of the refused series."""

    def admits(self, series: Series) -> bool:
        """Whether samples of the series are stored."""
        identity = hash(series)
        if identity in self.known.get(series.worker, ()):
            return True
        if self.count < self.limit:
            self.known[series.worker].add(identity)
            self.count += 1
            return True
        if len(self.refused) < MAXIMUM_REFUSED:
            self.refused.add(identity)
        return False

    @property
    def size(self) -> int:
        """Bytes of memory, by estimate."""
        return ENTRY * (self.count + len(self.refused)) + WORKER * len(self.known)

    def forget(self, worker: str) -> None:
        """Removes the series of a worker that left."""
        self.count -= len(self.known.pop(worker, ()))
