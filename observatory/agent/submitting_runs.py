"""Names in each graph the runs in which its client submits it, so that runs of one client own their tasks.

One client can have several runs open: one within the other, or in threads or tasks of an event loop at the
same time. A graph is of the runs that are open where it is submitted, and where its thread was started. Its
message to the scheduler names them beside the annotations, and the agent takes them out before Dask reads it
(scheduler/graphs.py): keys, priorities and annotations stay as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from threading import Lock, Thread, current_thread
from typing import Any
from weakref import WeakKeyDictionary

from observatory.agent.wrapping import Wrapping
from observatory.wire.client_code.runs import MOST_NESTED, RUNS_OF_GRAPH

OPERATION = "update-graph"


class SubmittingRun:
    """A run of a client from `enter` to `leave`. Both never raise."""

    def __init__(self, client: Any, run: str) -> None:
        self.client, self.run = client, run
        self.activities: Any = None
        """what the client does in it (client_activities.py)"""
        self.is_open = False
        self.is_read = False
        """the scheduler's agent reads the runs of graphs; earlier ones would leave them to Dask"""

    def enter(self) -> None:
        self.is_open = True
        _here.set((*open_runs_here(), self))
        with _lock, suppress(Exception):  # another version of Dask: its runs share the client's tasks
            if not _open:
                _wrappings[0] = Wrapping(Thread, "start", _remembering_runs)
            _open.append(self)
            if id(self.client) not in _wrappings:
                wrap = functools.partial(_naming_runs, self.client)
                _wrappings[id(self.client)] = Wrapping(self.client, "_send_to_scheduler", wrap)

    def leave(self) -> None:
        self.is_open = False
        _here.set(open_runs_here())
        with _lock, suppress(Exception):
            _open.remove(self)
            needed = {id(run.client) for run in _open} | ({0} if _open else set())
            for key in [key for key in _wrappings if key not in needed]:
                _wrappings.pop(key).unwrap()


_here: ContextVar[tuple[SubmittingRun, ...] | None] = ContextVar("runs", default=None)
_of_threads: WeakKeyDictionary[Thread, tuple[SubmittingRun, ...]] = WeakKeyDictionary()
"""the runs in which a thread was started"""
_lock = Lock()
_open: list[SubmittingRun] = []
_wrappings: dict[int, Wrapping] = {}
"""of clients by their ids, and of threads as 0"""


def open_runs_here() -> tuple[SubmittingRun, ...]:
    """The open runs that were entered here, or where this thread was started, outermost first."""
    runs = _here.get()
    if runs is None:
        runs = _of_threads.get(current_thread(), ())
    return tuple(run for run in runs if run.is_open)


def _remembering_runs(start: Callable[[Thread], None]) -> Callable[[Thread], None]:
    @functools.wraps(start)
    def start_in_runs(thread: Thread) -> None:
        with suppress(Exception):
            if runs := open_runs_here():
                _of_threads[thread] = runs
        start(thread)

    return start_in_runs


def _naming_runs(client: Any, send: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(send)
    def send_with_runs(message: Any) -> Any:
        with suppress(Exception):
            if message["op"] == OPERATION:
                message = _named(
                    message, [run.run for run in open_runs_here() if run.client is client and run.is_read]
                )
        return send(message)

    return send_with_runs


def _named(message: Mapping[str, Any], runs: list[str]) -> Mapping[str, Any]:
    """The message of a graph with the runs: Dask sends its annotations as `ToPickle`."""
    if not runs:
        return message
    annotations = message["annotations"]
    with_runs = {**annotations.data, RUNS_OF_GRAPH: runs[-MOST_NESTED:]}
    return {**message, "annotations": type(annotations)(with_runs)}
