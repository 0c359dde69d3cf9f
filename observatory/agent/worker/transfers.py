"""A worker's transfers as rows of kind `transfer`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from observatory.agent.logs import storable

MAXIMUM_KEYS = 100
INCOMING, OUTGOING = 0, 1


class Transfers:
    """Follows Worker.transfer_incoming_log and transfer_outgoing_log."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self._last: dict[int, Any] = {}

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for direction, name in ((INCOMING, "transfer_incoming_log"), (OUTGOING, "transfer_outgoing_log")):
            for told in self._news(direction, getattr(self.worker, name, ())):
                yield self._row(direction, told)

    def _news(self, direction: int, log: Any) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        for told in reversed(log):
            if told is self._last.get(direction):
                break
            found.append(told)
        if found:
            self._last[direction] = found[0]
        return found[::-1]

    def _row(self, direction: int, told: Mapping[str, Any]) -> tuple[Any, ...]:
        keys = told.get("keys") or {}
        some = {storable(str(key), 500): size for key, size in list(keys.items())[:MAXIMUM_KEYS]}
        return (
            told["start"],
            told["stop"],
            self.worker.address,
            str(told.get("who") or ""),
            direction,
            float(told.get("total") or 0),
            float(told.get("compressed") or 0),
            json.dumps(some, default=str),
            len(keys),
        )
