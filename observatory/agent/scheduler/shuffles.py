"""Records P2P shuffles: their names, start, end and progress."""

from __future__ import annotations

import json
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.scheduler.shuffle_names import code_of, name_of

BARRIER = "shuffle-barrier-"
"""before the id of a shuffle: the key of the task that waits until all is sent"""
MEDIA = ("comm", "disk")
LONGEST = 100
"""Most characters of a shuffle's id."""


class Shuffles:
    """Compares the active shuffles at each tick. A shuffle shorter than a tick is not recorded."""

    def __init__(self, scheduler: Scheduler, buffer: Buffer) -> None:
        self.scheduler = scheduler
        self._event = buffer.appender("event")
        self._append = buffer.appender("shuffle")
        self._started: dict[str, float] = {}

    def sample(self, now: float) -> None:
        """Reads ShuffleSchedulerPlugin.active_shuffles and the heartbeats of its workers."""
        plugin = self.scheduler.plugins.get("shuffle") or self.scheduler.extensions.get("shuffle")
        active = {str(id)[:LONGEST]: state for id, state in _items(plugin, "active_shuffles")}
        for id, state in active.items():
            if id not in self._started:
                self._started[id] = now
                workers = len(getattr(state, "participating_workers", ()))
                name, code = self._described(id, state)
                message = f"a P2P shuffle between {workers} workers began{f': {name}' if name else ''}"
                self._record(now, message, state="began", shuffle=id, workers=workers, name=name, code=code)
        for id in self._started.keys() - active.keys():
            seconds = now - self._started.pop(id)
            message = f"a P2P shuffle ended after {seconds:.1f} s"
            self._record(now, message, state="ended", shuffle=id, seconds=seconds)
        for id, by_worker in _items(plugin, "heartbeats"):
            self._progress(now, str(id)[:LONGEST], list(by_worker.values()))

    def _described(self, id: str, state: Any) -> tuple[str, str]:
        """The name of a shuffle and the line that submitted it; "" where they aren't known."""
        barrier = f"{BARRIER}{id}"
        task = self.scheduler.tasks.get(barrier)
        spec = getattr(getattr(state, "run_spec", None), "spec", None)
        if task is None:
            return "", ""
        sending = next(iter(task.dependencies), task)
        return (
            name_of(self.scheduler.tasks, barrier, spec),
            code_of(self.scheduler.computations, sending.group),
        )

    def _progress(self, now: float, shuffle: str, heartbeats: list[Any]) -> None:
        sums: dict[tuple[str, str], float] = {}
        for heartbeat in heartbeats:
            for medium in MEDIA:
                for what, value in (heartbeat.get(medium) or {}).items():
                    if isinstance(value, (int, float)):
                        sums[medium, str(what)] = sums.get((medium, str(what)), 0) + value
        for (medium, what), value in sums.items():
            self._append((now, shuffle, medium, what, float(value)))

    def _record(self, now: float, message: str, **detail: Any) -> None:
        self._event((now, "shuffle", "", json.dumps({"message": message, **detail})))


def _items(plugin: Any, name: str) -> list[tuple[Any, Any]]:
    return list(getattr(plugin, name, {}).items())
