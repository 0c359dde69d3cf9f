"""Records events logged to Dask's topics by Dask and by users: steals, shuffles, scaling and others."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.scheduler.errors import Errors
from observatory.agent.scheduler.worker_lifetimes import WorkerLifetimes
from observatory.agent.worker.failures.description import TOPIC as FAILURES

STEALING = "stealing"
SHUFFLES = "p2p"
SCALING = "adaptive_target"
RECORDED_ELSEWHERE = {
    "add-worker",
    "remove-worker",
    "add-client",
    "remove-client",
    "worker-status-change",
    "update_graph",
    "update-graph",
    "retired",
    "closing-worker",
    "run-function",
}
"""Actions that are recorded elsewhere: by plugin hooks or as rows of other kinds."""
MAXIMUM_DETAIL = 20_000
CONFIRMATION = ("confirm", "already-computing")


class Events:
    """Makes rows of kinds `event` and `steal`."""

    def __init__(
        self, scheduler: Scheduler, buffer: Buffer, errors: Errors, lifetimes: WorkerLifetimes
    ) -> None:
        self.scheduler = scheduler
        self.errors = errors
        self.lifetimes = lifetimes
        self._event = buffer.appender("event")
        self._steal = buffer.appender("steal")
        self._target: int | None = None

    def record(self, kind: str, worker: str, message: str, **detail: Any) -> None:
        self._event((time(), kind, worker, _json({"message": message, **detail})))

    def client(self, kind: str, client: str) -> None:
        self.record(
            kind, "", f"{client} {'connected' if kind == 'client-added' else 'disconnected'}", client=client
        )

    def logged(self, topic: str, message: Any) -> None:
        """Records one event of SchedulerPlugin.log_event."""
        if topic == FAILURES:
            self.errors.described(message)
            return
        if topic == STEALING:
            self._record_steal(message)
            return
        action = message.get("action") if isinstance(message, dict) else None
        if topic == "all":
            if action == "remove-worker":
                self.errors.worker_left(
                    message.get("processing-tasks") or (), str(message.get("worker") or "")
                )
            elif action == "retire-workers":
                for address in message.get("retired") or message.get("workers") or ():
                    self.lifetimes.retired(str(address))
        elif action == "worker-status-change":
            self.lifetimes.status_changed(topic, message)
        elif action == "closing-worker":
            self.lifetimes.closing(topic, str(message.get("reason") or ""))
        elif action == "retired":
            self.lifetimes.retired(topic)
        if action in RECORDED_ELSEWHERE or (topic == "all" and self._is_duplicate(message)):
            return
        self._record_topic(topic, action, message)

    def _is_duplicate(self, message: dict[str, Any]) -> bool:
        """Whether Dask logs this event to the topic of a client too."""
        return bool(message.get("client"))

    def _record_topic(self, topic: str, action: Any, message: Any) -> None:
        worker = topic if topic in self.scheduler.workers else ""
        kind = "shuffle" if topic == SHUFFLES else "topic"
        text = f"{topic}: {action}" if isinstance(action, str) else f"{topic}: {_short(message)}"
        self._event((time(), kind, worker, _json({"message": text, "topic": topic, "event": message})))

    def _record_steal(self, message: Any) -> None:
        """Records steals: a request is a list of tuples, an outcome a single tuple (distributed.stealing)."""
        now = time()
        outcome, *rest = message
        if outcome == "request":
            for start, level, key, cost, victim, there, thief, here in rest[0]:
                self._steal((start, outcome, key, victim, thief, level, cost, there, here))
            return
        if outcome == "reschedule":
            rest = rest[1:]
        if outcome in CONFIRMATION or outcome == "reschedule":
            key, _, victim, thief, _ = rest
        else:
            key, victim, thief = rest[0], str(rest[2] or ""), ""
        self._steal((now, str(outcome), key, victim, thief, -1, 0.0, 0.0, 0.0))

    def install(self) -> None:
        """Wraps the handler that adaptive scaling calls for its target number of workers."""
        self._handler = handler = self.scheduler.handlers[SCALING]
        self.scheduler.handlers[SCALING] = self._recording_target(handler)

    def uninstall(self) -> None:
        self.scheduler.handlers[SCALING] = self._handler

    def _recording_target(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(handler)
        async def adaptive_target(*arguments: Any, **named: Any) -> Any:
            target = handler(*arguments, **named)
            if inspect.isawaitable(target):
                target = await target
            if isinstance(target, int) and target != self._target:
                workers = len(self.scheduler.workers)
                text = f"adaptive scaling wants {target} workers; there are {workers}"
                self.record("adaptive-target", "", text, target=target, workers=workers, before=self._target)
                self._target = target
            return target

        return adaptive_target


def _short(message: Any) -> str:
    try:
        return str(message)[:200]
    except Exception:  # a __str__ that raises
        return f"<{type(message).__name__}>"


def _json(detail: dict[str, Any]) -> str:
    """JSON of any values, at most MAXIMUM_DETAIL characters; only the message when it would be longer."""
    try:
        text = json.dumps(detail, default=_short, skipkeys=True)
    except Exception:  # cycles and other values without JSON
        text = json.dumps({"message": _short(detail.get("message")), "event": _short(detail)})
    if len(text) <= MAXIMUM_DETAIL:
        return text
    return json.dumps({"message": _short(detail.get("message")), "cut": len(text)})
