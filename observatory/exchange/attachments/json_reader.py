"""Reads JSON from a file piece by piece, so that a large file takes little memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import ijson

from observatory.exchange.imports.refusal import Refused

DEEPEST = 100
CONTAINERS = {"start_map": "end_map", "start_array": "end_array"}

Event = tuple[str, Any]
"""as ijson.basic_parse gives them: ("start_map", None), ("map_key", "name"), ("number", 1.5)"""


class JsonReader:
    """Whoever gets the first event of a value reads it to its end: by `members`, `elements`, or `scalar`."""

    def __init__(self, file: BinaryIO) -> None:
        self._events: Iterator[Event] = iter(ijson.basic_parse(file, use_float=True))

    def take(self) -> Event:
        """The next event. Raises Refused if the file isn't valid JSON, or ends before its value does."""
        try:
            return next(self._events)
        except StopIteration:
            raise Refused("The file is cut off.") from None
        except (ijson.JSONError, ValueError, OverflowError) as error:
            if isinstance(error, Refused):
                raise
            said = " ".join(str(error).split())[:200]
            raise Refused(f"It begins as JSON, but isn't, or it is cut off: {said}.") from None

    def members(self, event: Event) -> Iterator[tuple[str, Event]]:
        """Name and first event of each member of an object; nothing of any other value."""
        if event[0] != "start_map":
            self.skip(event)
            return
        while (found := self.take())[0] != "end_map":
            yield found[1], self.take()

    def elements(self, event: Event) -> Iterator[Event]:
        """The first event of each element of a list; nothing of any other value."""
        if event[0] != "start_array":
            self.skip(event)
            return
        while (found := self.take())[0] != "end_array":
            yield found

    def scalar(self, event: Event) -> Any:
        """A text, number, boolean or null; null for an object or a list, which is skipped."""
        if event[0] in CONTAINERS:
            self.skip(event)
            return None
        return event[1]

    def number(self, event: Event) -> float:
        """A finite number; 0 for anything else."""
        value = self.scalar(event)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return 0.0
        return float(value) if abs(value) < 1e30 else 0.0

    def text(self, event: Event) -> str:
        """A text, or a number as text; "" for anything else."""
        value = self.scalar(event)
        return value if isinstance(value, str) else "" if value is None else str(value)

    def skip(self, event: Event) -> None:
        """Raises Refused if it is nested too deep."""
        depth = int(event[0] in CONTAINERS)
        while depth:
            found, _ = self.take()
            depth += (found in CONTAINERS) - (found in CONTAINERS.values())
            if depth > DEEPEST:
                raise Refused(f"The file is nested deeper than {DEEPEST} levels.")
