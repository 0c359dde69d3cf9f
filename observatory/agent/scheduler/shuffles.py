"""P2P shuffles: that they began and ended, and how much they have moved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer

MEDIA = ("comm", "disk")
LONGEST = 100
"""characters of a shuffle's id"""


class Shuffles:
    """Looks at each tick: one that began and ended between two of them isn't seen."""

    def __init__(self, scheduler: Scheduler, buffer: Buffer, tell: Callable[..., None]) -> None:
        """`tell(time, metric, value, labels)` makes a sample."""
        self.scheduler = scheduler
        self._event = buffer.appender("event")
        self._tell = tell
        self._began: dict[str, float] = {}

    def look(self, now: float) -> None:
        """ShuffleSchedulerPlugin.active_shuffles, and the workers' heartbeats there."""
        plugin = self.scheduler.plugins.get("shuffle") or self.scheduler.extensions.get("shuffle")
        active = {str(identity)[:LONGEST]: state for identity, state in _items(plugin, "active_shuffles")}
        for identity, state in active.items():
            if identity not in self._began:
                self._began[identity] = now
                workers = len(getattr(state, "participating_workers", ()))
                said = f"a P2P shuffle between {workers} workers began"
                self._happened(now, said, state="began", shuffle=identity, workers=workers)
        for identity in self._began.keys() - active.keys():
            seconds = now - self._began.pop(identity)
            said = f"a P2P shuffle ended after {seconds:.1f} s"
            self._happened(now, said, state="ended", shuffle=identity, seconds=seconds)
        for identity, by_worker in _items(plugin, "heartbeats"):
            self._progress(now, str(identity)[:LONGEST], list(by_worker.values()))

    def _progress(self, now: float, shuffle: str, told: list[Any]) -> None:
        sums: dict[tuple[str, str], float] = {}
        for of_worker in told:
            for medium in MEDIA:
                for what, value in (of_worker.get(medium) or {}).items():
                    if isinstance(value, (int, float)):
                        sums[medium, str(what)] = sums.get((medium, str(what)), 0) + value
        for (medium, what), value in sums.items():
            labels = {"shuffle": shuffle, "medium": medium, "what": what}
            self._tell(now, "observatory_shuffle_bytes", value, labels)

    def _happened(self, now: float, message: str, **detail: Any) -> None:
        self._event((now, "shuffle", "", json.dumps({"message": message, **detail})))


def _items(plugin: Any, name: str) -> list[tuple[Any, Any]]:
    return list(getattr(plugin, name, {}).items())
