"""Converts a worker's transfer logs to rows of kind `transfer`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from observatory.agent.logs import storable

MAXIMUM_KEYS = 100
INCOMING, OUTGOING = 0, 1


class Transfers:
    """Reads new entries of Worker.transfer_incoming_log and transfer_outgoing_log."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self._last: dict[int, Any] = {}

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for direction, name in ((INCOMING, "transfer_incoming_log"), (OUTGOING, "transfer_outgoing_log")):
            for transfer in self._new_entries(direction, getattr(self.worker, name, ())):
                yield self._row(direction, transfer)

    def _new_entries(self, direction: int, log: Any) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        for transfer in reversed(log):
            if transfer is self._last.get(direction):
                break
            found.append(transfer)
        if found:
            self._last[direction] = found[0]
        return found[::-1]

    def _row(self, direction: int, transfer: Mapping[str, Any]) -> tuple[Any, ...]:
        keys = transfer.get("keys") or {}
        sizes = {storable(str(key), 500): size for key, size in list(keys.items())[:MAXIMUM_KEYS]}
        return (
            transfer["start"],
            transfer["stop"],
            self.worker.address,
            str(transfer.get("who") or ""),
            direction,
            float(transfer.get("total") or 0),
            float(transfer.get("compressed") or 0),
            json.dumps(sizes, default=str),
            len(keys),
        )
