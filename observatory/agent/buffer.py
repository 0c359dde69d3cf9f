"""Where hooks leave their rows, until the sending thread takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from observatory.wire.kinds import KINDS

Row = tuple[Any, ...]
MAXIMUM_ROWS = 2_000_000
"""that wait for the thread; beyond it the oldest of the least important kinds are dropped"""


class Buffer:
    """A list of rows a kind. Appending is a list's own; one thread at a time drains."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Row]] = {name: [] for name in KINDS}

    def appender(self, kind: str) -> Callable[[Row], None]:
        """The function that takes a row of the kind: of any thread, valid for as long as the buffer is."""
        return self._rows[kind].append

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def drain(self) -> dict[str, list[Row]]:
        """Takes the rows that are there. What is appended meanwhile stays for the next time."""
        taken = {}
        for kind, rows in self._rows.items():
            count = len(rows)
            if count:
                # each step is one of the interpreter's: a row that is appended in between is behind `count`
                taken[kind] = rows[:count]
                del rows[:count]
        return taken

    def trim(self) -> dict[str, tuple[int, float, float]]:
        """Drops what is over MAXIMUM_ROWS; (count, time of the first, of the last) by kind."""
        dropped = {}
        over = len(self) - MAXIMUM_ROWS
        for name, kind in sorted(KINDS.items(), key=lambda item: item[1].importance):
            rows = self._rows[name]
            count = min(over, len(rows))
            if count > 0 and name != "dropped":
                time = kind.time_index
                dropped[name] = (count, rows[0][time], rows[count - 1][time])
                del rows[:count]
                over -= count
        return dropped
