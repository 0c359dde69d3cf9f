"""Records submitted graphs: their size, code, dependencies, annotations, priorities and resources."""

from __future__ import annotations

import functools
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.scheduler.client_runs import RUN
from observatory.wire.client_code.runs import MOST_NESTED, OF_WORKER, RUNS_OF_GRAPH
from observatory.wire.client_code.submitted_code import Frame, around_calls, code_of_frames
from observatory.wire.event_kinds import GRAPH_UPDATED, RUNS
from observatory.wire.records import clean_key, key_text

EMPTY = "{}"
MAXIMUM_CODE = 100_000
LINES_AROUND = 100
"""before and after a line that submitted a graph, in files that are long"""
MAXIMUM_GROUPS = 200
MAXIMUM_NAME = 400


MAXIMUM_FRAMES = 10_000
OPERATION = "update-graph"


@dataclass(frozen=True)
class Received:
    """What is known of a graph that the scheduler unpacks, of which plugins aren't told."""

    time: float
    """when it was received"""
    nbytes: int
    runs: list[str]
    """ids of the runs in which it was submitted (agent/submitting_runs.py)"""
    is_of_task: bool
    """a task submitted it: in the process of a client, that may be any client"""


RECEIVED: ContextVar[Received | None] = ContextVar("received", default=None)


class Graphs:
    """Makes rows of kinds `computation`, `group_dependency`, `dependency` and `task`, and events of graphs.

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

    def install(self) -> None:
        """Wraps the handler that clients send graphs to, of which plugins are told without the message."""
        self._handler = handler = self.scheduler.stream_handlers.get(OPERATION)
        if handler is not None:
            self.scheduler.stream_handlers[OPERATION] = _noting_what_is_received(handler)

    def uninstall(self) -> None:
        if self._handler is not None:
            self.scheduler.stream_handlers[OPERATION] = self._handler

    def record(self, update: Mapping[str, Any]) -> None:
        """Records the arguments of SchedulerPlugin.update_graph."""
        now = time()
        scheduler = self.scheduler
        tasks = [task for task in map(scheduler.tasks.get, update.get("tasks") or ()) if task is not None]
        received = RECEIVED.get()
        client = _client_of(update, received)
        submitted = f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}"
        text = f"{'a client' if client else 'a task'} submitted {submitted}"
        message = {"message": text, "client": client, "tasks": len(tasks), **_detail(received, now)}
        self._event((now, GRAPH_UPDATED, "", json.dumps(message)))
        if not tasks:
            return
        computation = scheduler.computations[-1] if scheduler.computations else None
        computation_id = str(computation.id) if computation is not None else f"{scheduler.id}-{now:.6f}"
        counts = Counter(task.group.name for task in tasks).most_common(MAXIMUM_GROUPS)
        groups = [(clean_key(key_text(group))[:MAXIMUM_NAME], count) for group, count in counts]
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


def _noting_what_is_received(handler: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(handler)
    async def update_graph(*arguments: Any, **named: Any) -> Any:
        nbytes, is_of_task = _nbytes(named.get("expr_ser")), bool(named.get("submitting_task"))
        RECEIVED.set(Received(time(), nbytes, _take_runs(named), is_of_task))
        done = handler(*arguments, **named)
        return await done if inspect.isawaitable(done) else done

    return update_graph


def _nbytes(message: Any) -> int:
    """The bytes of a serialized graph, of its first frames where it has very many; 0: not known."""
    try:
        frames = islice(message.frames, MAXIMUM_FRAMES)
        return sum(getattr(frame, "nbytes", None) or len(frame) for frame in frames)
    except Exception:  # another version of Dask
        return 0


def _take_runs(named: dict[str, Any]) -> list[str]:
    """Removes the runs from the annotations of a graph, and returns them."""
    annotations = named.get("annotations")
    if not isinstance(annotations, Mapping) or RUNS_OF_GRAPH not in annotations:
        return []
    named["annotations"] = {name: value for name, value in annotations.items() if name != RUNS_OF_GRAPH}
    runs = annotations[RUNS_OF_GRAPH]
    if not isinstance(runs, (list, tuple)):
        return []
    return [run for run in runs[:MOST_NESTED] if isinstance(run, str) and RUN.fullmatch(run)]


def _client_of(update: Mapping[str, Any], received: Received | None) -> str:
    """The client that submitted a graph; "" for a task's that has a client of its process, not one's own."""
    client = str(update.get("client") or "")
    is_of_worker = client.startswith(OF_WORKER)
    return "" if received is not None and received.is_of_task and not is_of_worker else client


def _detail(received: Received | None, now: float) -> dict[str, Any]:
    """A graph's size, how long the scheduler has been unpacking it, and the runs that it was submitted in."""
    if received is None:
        return {}
    size = {"nbytes": received.nbytes, "seconds": round(now - received.time, 6)} if received.nbytes else {}
    return {**size, RUNS: received.runs} if received.runs and not received.is_of_task else size


def _code(computation: Any) -> str:
    """Source of the frames that submitted a computation, outermost first (Computation.code).

    Several graphs of one function have its source once, with the line of each. Of much code there are the
    lines around those.
    """
    calls: dict[tuple[str, str, int], set[int]] = {}
    for frames in getattr(computation, "code", ()) or ():
        for frame in frames if isinstance(frames, tuple) and not hasattr(frames, "code") else (frames,):
            code = str(getattr(frame, "code", frame))
            line, first = _lines(frame, code)
            calls.setdefault((str(getattr(frame, "filename", "")), code, first), set()).update(line)
    found = [Frame(code, file, first, tuple(sorted(lines))) for (file, code, first), lines in calls.items()]
    if sum(len(frame.source) for frame in found) > MAXIMUM_CODE // 2:
        found = list(around_calls(found, LINES_AROUND, LINES_AROUND))
    return code_of_frames(found)[:MAXIMUM_CODE]


def _lines(frame: Any, code: str) -> tuple[list[int], int]:
    """The calling line of a frame, if it is known, and the line at which its code begins in the file."""
    line, place = getattr(frame, "lineno_frame", None), getattr(frame, "lineno_relative", None)
    if not isinstance(line, int) or not isinstance(place, int) or not 0 <= place <= code.count("\n"):
        return [], 1
    return ([line], line - place) if line > place else ([], 1)


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
