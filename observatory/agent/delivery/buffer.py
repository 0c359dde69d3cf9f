"""A buffer between the agent's hooks, which append rows, and its encoding thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from observatory.wire.kinds import KINDS

Row = tuple[Any, ...]
MAXIMUM_ROWS = 2_000_000
"""Rows over this limit are dropped: the least important kinds first, the oldest rows of each."""


class Buffer:
    """A list of rows for each kind. Any thread may append; only one thread may take rows out."""

    def __init__(self, limit: int = MAXIMUM_ROWS) -> None:
        self.limit = limit
        self._rows: dict[str, list[Row]] = {name: [] for name in KINDS}

    def appender(self, kind: str) -> Callable[[Row], None]:
        """A function that appends a row of the kind. It may be called from any thread and stays valid."""
        return self._rows[kind].append

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    @property
    def has_news(self) -> bool:
        """Whether there are other rows than samples, which come while nothing happens, too."""
        return any(rows and kind != "sample" for kind, rows in self._rows.items())

    def drain(self) -> dict[str, list[Row]]:
        """Takes out all rows. Rows appended meanwhile stay for the next call."""
        return {kind: self._take(kind, len(rows)) for kind, rows in self._rows.items() if rows}

    def trim(self) -> dict[str, list[Row]]:
        """Takes out the rows over the limit: the oldest rows of the least important kinds."""
        taken = {}
        over = len(self) - self.limit
        for name in sorted(KINDS, key=lambda name: KINDS[name].importance):
            count = min(over, len(self._rows[name]))
            if count > 0 and name != "dropped":
                taken[name] = self._take(name, count)
                over -= count
        return taken

    def _take(self, kind: str, count: int) -> list[Row]:
        rows = self._rows[kind]
        # each statement is atomic under the GIL: a row appended in between is after `count`
        taken = rows[:count]
        del rows[:count]
        return taken
