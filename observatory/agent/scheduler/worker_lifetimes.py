"""Workers: how they come, change, and go, and why."""

from __future__ import annotations

import json
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer

REASONS = (
    # what the stimulus of a removal begins with, the reason that is stored, and what people read
    ("check-worker-ttl", "lost", "it sent no heartbeat for longer than distributed.scheduler.worker-ttl"),
    ("worker-ttl", "lost", "it sent no heartbeat for longer than distributed.scheduler.worker-ttl"),
    ("handle-worker-cleanup", "lost", "its connection to the scheduler broke"),
    ("retire-workers", "retired", "it was retired"),
    ("worker-close", "removed", "it closed"),
    ("nanny-close", "removed", "its nanny closed"),
    ("scheduler-restart", "removed", "the cluster was restarted"),
)
"""distributed.scheduler.Scheduler.remove_worker's stimulus_id"""


class WorkerLifetimes:
    """Rows of kinds `worker`, `gone` and `event`."""

    def __init__(self, scheduler: Scheduler, buffer: Buffer) -> None:
        self.scheduler = scheduler
        self._worker = buffer.appender("worker")
        self._gone = buffer.appender("gone")
        self._event = buffer.appender("event")
        self._retired: set[str] = set()
        self._closing: dict[str, str] = {}
        """workers that said that they close, and why"""
        self._is_closed = False

    def install(self) -> None:
        """Tells of the workers that are there already."""
        now = time()
        for address in list(self.scheduler.workers):
            self._seen(address, now)
        message = "the agent began to report: from here on everything is known"
        self._event((now, "agent-started", "", json.dumps({"message": message, **_versions()})))

    def added(self, address: str) -> None:
        now = time()
        self._retired.discard(address)
        self._closing.pop(address, None)
        self._seen(address, now)
        name = _name(self.scheduler.workers[address])
        self.tell(now, "worker-added", address, f"{name or address} joined")

    def _seen(self, address: str, now: float) -> None:
        worker = self.scheduler.workers[address]
        detail = {
            "pid": getattr(worker, "pid", None),
            "nanny": getattr(worker, "nanny", None) or "",
            "directory": str(getattr(worker, "local_directory", "")),
            "versions": getattr(worker, "versions", None) or {},
        }
        self._worker(
            (
                now,
                address,
                _name(worker),
                str(getattr(worker, "host", "")),
                int(worker.nthreads),
                float(worker.memory_limit or 0),
                worker.status.name,
                json.dumps(dict(getattr(worker, "resources", None) or {})),
                json.dumps(detail, default=str),
            )
        )

    def status_changed(self, address: str, message: dict[str, Any]) -> None:
        """Dask's event of action worker-status-change."""
        before, status = str(message.get("prev-status", "")), str(message.get("status", ""))
        worker = self.scheduler.workers.get(address)
        name = _name(worker) if worker is not None else ""
        if status == "closing_gracefully":
            self.retired(address)
        elif status == "closing":
            self.closing(address, "")
        said = f"{name or address} is {status.replace('_', ' ')}, was {before.replace('_', ' ')}"
        self.tell(time(), "worker-status", address, said, before=before, status=status)
        if worker is not None:
            self._seen(address, time())

    def closing(self, address: str, reason: str) -> None:
        """A worker closes in order, for a reason that may be known."""
        self._closing[address] = reason or self._closing.get(address, "")

    def retired(self, address: str) -> None:
        self._retired.add(address)

    def removed(self, address: str, stimulus: str) -> None:
        if self._is_closed:
            return
        now = time()
        reason, why = self._why(address, stimulus)
        self._retired.discard(address)
        self._closing.pop(address, None)
        self._gone((now, address, reason))
        kind = "worker-lost" if reason == "lost" else "worker-removed"
        self.tell(
            now,
            kind,
            address,
            f"{address} {'was lost' if reason == 'lost' else 'left'}: {why}",
            stimulus=stimulus,
            reason=reason,
        )

    def _why(self, address: str, stimulus: str) -> tuple[str, str]:
        if address in self._retired:
            return "retired", "it was retired"
        if address in self._closing:
            return "removed", f"it closed: {self._closing[address] or stimulus}"
        for beginning, reason, why in REASONS:
            if stimulus.startswith(beginning):
                return reason, why
        return "removed", stimulus or "it left"

    def closed(self) -> None:
        """The scheduler closes, and with it all that are still there."""
        self._is_closed = True
        now = time()
        for address in list(self.scheduler.workers):
            self._gone((now, address, "cluster-ended"))

    def tell(self, now: float, kind: str, address: str, message: str, **detail: Any) -> None:
        self._event((now, kind, address, json.dumps({"message": message, **detail}, default=str)))


def _name(worker: Any) -> str:
    name = getattr(worker, "name", "")
    return "" if name is None else str(name)


def _versions() -> dict[str, Any]:
    import platform
    from importlib.metadata import version

    return {
        "python": platform.python_version(),
        "dask": version("dask"),
        "distributed": version("distributed"),
        "platform": platform.platform(),
    }
