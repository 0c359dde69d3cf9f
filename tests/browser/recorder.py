"""An independent recorder of a cluster, with which the store must agree."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin


@dataclass
class Heartbeat:
    """Values of a worker's heartbeat."""

    time: float
    memory: int
    managed: int
    gil: float


@dataclass
class Recording:
    finished: list[tuple[float, str]] = field(default_factory=list)
    """(stop of the compute span, key) of each finished task"""
    spans: list[tuple[str, str, float, float]] = field(default_factory=list)
    """(key, action, start, stop)"""
    erred: list[str] = field(default_factory=list)
    heartbeats: dict[str, list[Heartbeat]] = field(default_factory=dict)
    """by the worker's address"""

    def done_at(self, time: float) -> int:
        """Return the number of tasks computed until `time`."""
        return sum(stop <= time for stop, _ in self.finished)

    def heartbeats_between(self, worker: str, start: float, stop: float) -> list[Heartbeat]:
        return [beat for beat in self.heartbeats[worker] if start <= beat.time <= stop]


class Recorder(SchedulerPlugin):
    """Records a scheduler in the test's process, independently of Observatory."""

    name = "independent-recorder"

    def __init__(self, recording: Recording, scheduler: Scheduler) -> None:
        self.recording = recording
        self._scheduler = scheduler
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            for worker in self._scheduler.workers.values():
                metrics = worker.metrics
                beats = self.recording.heartbeats.setdefault(worker.address, [])
                if metrics and (not beats or beats[-1].time != metrics["time"]):
                    gil = metrics.get("gil_contention", 0.0)
                    beats.append(Heartbeat(metrics["time"], metrics["memory"], metrics["managed_bytes"], gil))
            await asyncio.sleep(0.05)

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        if finish == "erred":
            self.recording.erred.append(str(key))
            return  # the stock event stream says nothing of these
        for span in kwargs.get("startstops") or ():
            if start != "processing":
                continue
            self.recording.spans.append((str(key), span["action"], span["start"], span["stop"]))
            if span["action"] == "compute" and finish == "memory":
                self.recording.finished.append((span["stop"], str(key)))

    async def close(self) -> None:
        self._task.cancel()
