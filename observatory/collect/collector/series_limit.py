"""The limit on the number of series of a target."""

from __future__ import annotations

from collections.abc import Iterable

from observatory.wire.records import Series

MAXIMUM_REFUSED = 1_000_000
"""refused series that are told apart; beyond it they are only refused"""


class SeriesLimit:
    """Lets series in up to a limit; those that are in stay in. A worker that goes makes room."""

    def __init__(self, limit: int, known: Iterable[Series] = ()) -> None:
        self.limit = limit
        self.known = set(known)
        self.refused: set[int] = set()
        """hashes of the refused series"""

    def admits(self, series: Series) -> bool:
        if series in self.known:
            return True
        if len(self.known) < self.limit:
            self.known.add(series)
            return True
        if len(self.refused) < MAXIMUM_REFUSED:
            self.refused.add(hash(series))
        return False

    def forget(self, worker: str) -> None:
        self.known = {series for series in self.known if series.worker != worker}
