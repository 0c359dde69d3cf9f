"""The limit on the number of series of a target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from observatory.wire.records import Series

MAXIMUM_REFUSED = 1_000_000
"""Most refused series that are counted."""


class SeriesLimit:
    """Admits series up to a limit. Admitted series stay, until their worker leaves."""

    def __init__(self, limit: int, known: Iterable[Series] = ()) -> None:
        self.limit = limit
        self.known: defaultdict[str, set[Series]] = defaultdict(set)
        """The admitted series by the address of their worker; "" for the cluster's own."""
        for series in known:
            self.known[series.worker].add(series)
        self.count = sum(map(len, self.known.values()))
        """How many series are admitted."""
        self.refused: set[int] = set()
        """Hashes of the refused series."""

    def admits(self, series: Series) -> bool:
        """Whether samples of the series are stored."""
        if series in self.known.get(series.worker, ()):
            return True
        if self.count < self.limit:
            self.known[series.worker].add(series)
            self.count += 1
            return True
        if len(self.refused) < MAXIMUM_REFUSED:
            self.refused.add(hash(series))
        return False

    def forget(self, worker: str) -> None:
        """Removes the series of a worker that left."""
        self.count -= len(self.known.pop(worker, ()))
