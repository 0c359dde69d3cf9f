"""Records submitted graphs: their code, dependencies, annotations, priorities and resources."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer

EMPTY = "{}"
MAXIMUM_CODE = 100_000
MAXIMUM_GROUPS = 200
MAXIMUM_NAME = 400


class Graphs:
    """Makes rows of kinds `computation`, `group_dependency`, `dependency` and `task`.

    It runs inside Scheduler.update_graph, which itself takes about fifty times as long per task.
    """

    def __init__(self, scheduler: Scheduler, buffer: Buffer, limit: int) -> None:
        self.scheduler = scheduler
        self.limit = limit
        """Most tasks, and most edges, of one graph that are recorded one by one."""
        self._computation = buffer.appender("computation")
        self._group = buffer.appender("group_dependency")
        self._edge = buffer.appender("dependency")
        self._task = buffer.appender("task")
        self._event = buffer.appender("event")

    def record(self, update: Mapping[str, Any]) -> None:
        """Records the arguments of SchedulerPlugin.update_graph."""
        now = time()
        scheduler = self.scheduler
        tasks = [task for task in map(scheduler.tasks.get, update.get("tasks") or ()) if task is not None]
        client = str(update.get("client") or "")
        message = {"message": f"{client} submitted {len(tasks)} tasks", "client": client, "tasks": len(tasks)}
        self._event((now, "graph-updated", "", json.dumps(message)))
        if not tasks:
            return
        computation = scheduler.computations[-1] if scheduler.computations else None
        computation_id = str(computation.id) if computation is not None else f"{scheduler.id}-{now:.6f}"
        counts = Counter(task.group.name for task in tasks).most_common(MAXIMUM_GROUPS)
        groups = [(str(group)[:MAXIMUM_NAME], count) for group, count in counts]
        annotations = _annotations(computation)
        spans = _spans(scheduler, tasks[0])
        self._computation(
            (now, computation_id, client, _code(computation), _json(groups), _json(annotations), _json(spans))
        )
        edges = Counter(
            (task.group.name, needed.group.name) for task in tasks for needed in task.dependencies
        )
        for (group, needed), count in edges.items():
            self._group((now, computation_id, group, needed, count))
        if sum(edges.values()) <= self.limit:
            self._edges(now, computation_id, tasks)
        if len(tasks) <= self.limit:
            self._tasks(now, computation_id, tasks)

    def _edges(self, now: float, computation: str, tasks: Iterable[Any]) -> None:
        for task in tasks:
            for needed in task.dependencies:
                self._edge((now, computation, task.key, needed.key))

    def _tasks(self, now: float, computation: str, tasks: Iterable[Any]) -> None:
        for task in tasks:
            annotations = _json(task.annotations) if task.annotations else EMPTY
            resources = _json(task.resource_restrictions) if task.resource_restrictions else EMPTY
            priority = task.priority or ""
            self._task((now, computation, task.key, priority, max(0, task.retries), annotations, resources))


def _code(computation: Any) -> str:
    """Source of the frames that submitted a computation, outermost first (Computation.code).

    Several graphs of one function have its source once.
    """
    parts = []
    for frames in getattr(computation, "code", ()) or ():
        for frame in frames if isinstance(frames, tuple) and not hasattr(frames, "code") else (frames,):
            name = getattr(frame, "filename", "")
            code = str(getattr(frame, "code", frame))
            parts.append(f"# {name}\n{code}" if name else code)
    return "\n\n".join(dict.fromkeys(parts))[:MAXIMUM_CODE]


def _annotations(computation: Any) -> Any:
    return getattr(computation, "annotations", None) or {}


def _spans(scheduler: Scheduler, task: Any) -> list[str]:
    """Names of the `distributed.span` contexts that the task was created in, outermost first."""
    extension = scheduler.extensions.get("spans")
    span_id = getattr(task.group, "span_id", None)
    span = extension.spans.get(span_id) if extension is not None and span_id else None
    names = [str(name) for name in span.name] if span is not None else []
    return [] if names == ["default"] else names


def _json(value: Any) -> str:
    try:
        return json.dumps(value, default=str, skipkeys=True)
    except Exception:  # annotations without JSON
        return EMPTY if isinstance(value, dict) else "[]"
