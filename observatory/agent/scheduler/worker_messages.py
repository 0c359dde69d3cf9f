"""Receives the records of workers and nannies on the scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer
from observatory.wire.kind import Field, Type
from observatory.wire.kinds import KINDS

HANDLER = "observatory_records"
MAXIMUM_ORIGINS = 100_000


class WorkerMessages:
    """Accepts each message once: senders number their messages and repeat those without an answer."""

    def __init__(self, scheduler: Scheduler, buffer: Buffer) -> None:
        self.scheduler = scheduler
        self.appenders = {name: buffer.appender(name) for name in KINDS}
        self._numbers: dict[str, int] = {}
        """Number of the last message by origin, the id of a process."""
        self.refused = 0
        """Rows refused because they don't fit their kind."""

    def install(self) -> None:
        self.scheduler.handlers[HANDLER] = self.take

    def uninstall(self) -> None:
        del self.scheduler.handlers[HANDLER]

    def take(
        self, origin: str = "", number: int = 0, address: str = "", records: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Dask comm handler. Acknowledges the message, also when it was received before, with our time."""
        if number > self._numbers.get(origin, 0):
            self._numbers.pop(origin, None)
            self._numbers[origin] = number
            if len(self._numbers) > MAXIMUM_ORIGINS:
                self._numbers.pop(next(iter(self._numbers)))
            for name, rows in (records or {}).items():
                self._append(name, rows)
        return {"status": "OK", "number": number, "time": time()}

    def _append(self, name: str, rows: Any) -> None:
        kind = KINDS.get(name)
        if kind is None or not isinstance(rows, (list, tuple)):
            self.refused += 1
            return
        append = self.appenders[name]
        for row in rows:
            if len(row) == len(kind.fields) and all(map(_fits, kind.fields, row)):
                append(tuple(map(_value, kind.fields, row)))
            else:
                self.refused += 1


def _fits(field: Field, value: Any) -> bool:
    """Whether the value fits the type of the field."""
    if field.type is Type.KEY:
        return True
    if field.type.column == "text":
        return isinstance(value, str)
    if field.type.column == "f64":
        return isinstance(value, (int, float))
    low, high = _RANGES[field.type.column]
    return isinstance(value, int) and low <= value <= high


def _value(field: Field, value: Any) -> Any:
    return _as_key(value) if field.type is Type.KEY else value


def _as_key(value: Any) -> Any:
    """A key of a write-ahead log: JSON has lists in place of tuples."""
    return tuple(map(_as_key, value)) if isinstance(value, list) else value


_RANGES = {"u32": (0, 2**32 - 1), "i32": (-(2**31), 2**31 - 1), "u8": (0, 255)}
