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
LATEST = 1.0
"""seconds after which its begin is recorded as of later: what is older was sent"""


class Shuffles:
    """Compares the active shuffles at each tick, and whenever all of one is sent or it is over."""

    def __init__(self, scheduler: Scheduler, buffer: Buffer) -> None:
        self.scheduler = scheduler
        self._event = buffer.appender("event")
        self._append = buffer.appender("shuffle")
        self._started: dict[str, float] = {}

    def sample(self, now: float) -> None:
        """Reads ShuffleSchedulerPlugin.active_shuffles and the heartbeats of its workers."""
        self._compare(now)
        for id, by_worker in _items(self._plugin, "heartbeats"):
            self._progress(now, str(id)[:LONGEST], list(by_worker.values()))

    def barrier_moved(self, barrier: str, start: str, now: float) -> None:
        """The task that waits until all is sent changes its state: its shuffle can be over before a tick."""
        self._compare(now)
        id = barrier.removeprefix(BARRIER)[:LONGEST]
        if start == "memory" and id in self._started:
            self._ended(id, now)

    def _compare(self, now: float) -> None:
        active = {str(id)[:LONGEST]: state for id, state in _items(self._plugin, "active_shuffles")}
        for id, state in active.items():
            if id not in self._started:
                self._began(id, state, now)
        for id in self._started.keys() - active.keys():
            self._ended(id, now)

    @property
    def _plugin(self) -> Any:
        return self.scheduler.plugins.get("shuffle") or self.scheduler.extensions.get("shuffle")

    def _began(self, id: str, state: Any, now: float) -> None:
        barrier = self.scheduler.tasks.get(f"{BARRIER}{id}")
        sending = None if barrier is None else next(iter(barrier.dependencies), barrier).group
        since = getattr(sending, "start", 0.0) or now  # of its first task
        self._started[id] = since if since < now else now
        workers = len(getattr(state, "participating_workers", ()))
        name, code = self._described(barrier, sending, state)
        message = f"a P2P shuffle between {workers} workers began{f': {name}' if name else ''}"
        time = max(self._started[id], now - LATEST)
        self._record(time, message, state="began", shuffle=id, workers=workers, name=name, code=code)

    def _ended(self, id: str, now: float) -> None:
        seconds = now - self._started.pop(id)
        message = f"a P2P shuffle ended after {seconds:.1f} s"
        self._record(now, message, state="ended", shuffle=id, seconds=seconds)

    def _described(self, barrier: Any, sending: Any, state: Any) -> tuple[str, str]:
        """The name of a shuffle and the line that submitted it; "" where they aren't known."""
        if barrier is None:
            return "", ""
        spec = getattr(getattr(state, "run_spec", None), "spec", None)
        return (
            name_of(self.scheduler.tasks, barrier.key, spec),
            code_of(self.scheduler.computations, sending),
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
