"""Where hooks leave their rows, until the gathering thread takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from observatory.wire.kinds import KINDS

Row = tuple[Any, ...]
MAXIMUM_ROWS = 2_000_000
"""that wait for the thread; beyond it the oldest of the least important kinds are dropped"""


class Buffer:
    """A list of rows a kind. Appending is a list's own; one thread at a time drains."""

    def __init__(self, limit: int = MAXIMUM_ROWS) -> None:
        self.limit = limit
        self._rows: dict[str, list[Row]] = {name: [] for name in KINDS}

    def appender(self, kind: str) -> Callable[[Row], None]:
        """The function that takes a row of the kind: of any thread, valid for as long as the buffer is."""
        return self._rows[kind].append

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def drain(self) -> dict[str, list[Row]]:
        """Takes the rows that are there. What is appended meanwhile stays for the next time."""
        return {kind: self._take(kind, len(rows)) for kind, rows in self._rows.items() if rows}

    def trim(self) -> dict[str, list[Row]]:
        """Takes what is over the limit: the oldest rows of the least important kinds."""
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
        # each step is one of the interpreter's: a row that is appended in between is behind `count`
        taken = rows[:count]
        del rows[:count]
        return taken
