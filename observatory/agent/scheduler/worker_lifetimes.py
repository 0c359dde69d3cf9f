"""Records how workers join, change their status and leave, and the reason."""

from __future__ import annotations

import json
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.environment import describe
from observatory.wire.event_kinds import AGENT_STARTED, CLUSTER_ENDED
from observatory.wire.workers.departures import LOST, REMOVED, RETIRED, Reason, reason_of


class WorkerLifetimes:
    """Makes rows of kinds `worker`, `gone` and `event`."""

    def __init__(self, scheduler: Scheduler, buffer: Buffer) -> None:
        self.scheduler = scheduler
        self._worker = buffer.appender("worker")
        self._gone = buffer.appender("gone")
        self._event = buffer.appender("event")
        self._retired: set[str] = set()
        self._closing: dict[str, str] = {}
        """Reason by address of the workers that announced their end."""
        self._is_closed = False

    def install(self) -> None:
        """Records the workers that are already connected."""
        now = time()
        for address in list(self.scheduler.workers):
            self._record_worker(address, now)
        message = "the agent began to report: from here on everything is known"
        detail = {"message": message, **describe("scheduler")}
        self._event((now, AGENT_STARTED, "", json.dumps(detail, default=str)))

    def added(self, address: str) -> None:
        """Records a worker that joined."""
        now = time()
        self._retired.discard(address)
        self._closing.pop(address, None)
        self._record_worker(address, now)
        name = _name(self.scheduler.workers[address])
        self._record_event(now, "worker-added", address, f"{name or address} joined")

    def _record_worker(self, address: str, now: float) -> None:
        worker = self.scheduler.workers[address]
        detail = {
            "pid": getattr(worker, "pid", None),
            "nanny": getattr(worker, "nanny", None) or "",
            "directory": str(getattr(worker, "local_directory", "")),
            "dashboard": (getattr(worker, "services", None) or {}).get("dashboard"),
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
        """Records Dask's event worker-status-change."""
        before, status = str(message.get("prev-status", "")), str(message.get("status", ""))
        worker = self.scheduler.workers.get(address)
        name = _name(worker) if worker is not None else ""
        if status == "closing_gracefully":
            self.retired(address)
        elif status == "closing":
            self.closing(address, "")
        text = f"{name or address} is {status.replace('_', ' ')}, was {before.replace('_', ' ')}"
        self._record_event(time(), "worker-status", address, text, before=before, status=status)
        if worker is not None:
            self._record_worker(address, time())

    def closing(self, address: str, reason: str) -> None:
        """A worker announced that it closes; `reason` may be ""."""
        self._closing[address] = reason or self._closing.get(address, "")

    def retired(self, address: str) -> None:
        """A worker is being retired."""
        self._retired.add(address)

    def removed(self, address: str, stimulus: str) -> None:
        """Records the end of a worker and its reason."""
        if self._is_closed:
            return
        now = time()
        reason, why = self._why(address, stimulus)
        self._retired.discard(address)
        self._closing.pop(address, None)
        self._gone((now, address, reason))
        kind = "worker-lost" if reason == LOST else "worker-removed"
        self._record_event(
            now,
            kind,
            address,
            f"{address} {'was lost' if reason == LOST else 'left'}: {why}",
            stimulus=stimulus,
            reason=reason,
        )

    def _why(self, address: str, stimulus: str) -> Reason:
        if address in self._retired:
            return Reason(RETIRED, "it was retired")
        if address in self._closing:
            return Reason(REMOVED, f"it closed: {self._closing[address] or stimulus}")
        return reason_of(stimulus)

    def closed(self) -> None:
        """Records the end of all workers when the scheduler closes."""
        self._is_closed = True
        now = time()
        for address in list(self.scheduler.workers):
            self._gone((now, address, CLUSTER_ENDED))

    def _record_event(self, now: float, kind: str, address: str, message: str, **detail: Any) -> None:
        self._event((now, kind, address, json.dumps({"message": message, **detail}, default=str)))


def _name(worker: Any) -> str:
    name = getattr(worker, "name", "")
    return "" if name is None else str(name)
