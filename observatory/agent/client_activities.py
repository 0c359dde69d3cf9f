"""Times what Dask's client does while a run is open: optimizing and sending graphs, waiting, gathering.

Functions of the client and of Dask are wrapped while a run is open, and only then. A wrapper notes when the
function began and ended, and changes nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from inspect import iscoroutine, iscoroutinefunction
from threading import Lock
from time import monotonic
from types import FunctionType
from typing import Any

from observatory.agent.submitting_runs import open_runs_here
from observatory.agent.wrapping import Wrapping
from observatory.wire.client_code.runs import (
    ACTOR,
    CODE,
    GATHERING,
    MOST_ACTIVITIES,
    OPTIMIZING,
    SENDING,
    WAITING,
)

SHORTEST_GAP = 0.005
"""seconds between two times of one activity that are kept apart"""
OF_CLIENT = {"_graph_to_futures": SENDING, "_gather_remote": GATHERING, "sync": WAITING}
OF_DASK = {
    "dask._expr": "optimize_until",
    "dask.base": "collections_to_expr",
    "distributed.client": "collections_to_expr",
}
"""what optimizes, in `dask.compute` and in methods of the client"""
WITHOUT_SYNC = (
    ("distributed.client", "as_completed", "__next__", WAITING),
    ("distributed.actor", "ActorFuture", "result", ACTOR),
)
"""what waits without Client.sync"""
OF_EARLIER_DASK = {"dask.base": "collections_to_dsk", "distributed.client": "collections_to_dsk"}


class Activities:
    """What a client did in a run: its first MOST_ACTIVITIES times. Those close to each other become one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: list[tuple[str, float, float]] = []
        self._last: dict[str, int] = {}
        """the place of the last time of each activity"""
        self._until: float | None = None
        """when there were too many; None: not yet"""

    def add(self, activity: str, start: float, stop: float) -> None:
        """Times are those of `monotonic()`."""
        with self._lock:
            if self._until is not None:
                return
            place = self._last.get(activity)
            if place is not None:
                _, begun, ended = self._found[place]
                if start - ended < SHORTEST_GAP and begun - stop < SHORTEST_GAP:
                    self._found[place] = (activity, min(begun, start), max(ended, stop))
                    return
            if len(self._found) == MOST_ACTIVITIES - 1:
                self._until = start
                return
            self._last[activity] = len(self._found)
            self._found.append((activity, start, stop))

    def since(self, began: float) -> list[tuple[str, float, float]]:
        """All of them, in seconds since `began`: first the time in which they were recorded, as CODE."""
        with self._lock:
            until = monotonic() if self._until is None else self._until
            return [
                (activity, round(max(0.0, start - began), 6), round(max(0.0, stop - began), 6))
                for activity, start, stop in [(CODE, began, until), *self._found]
            ]


class _Timed(Wrapping):
    """A function of an object or a module, timed for the runs that are open."""

    def __init__(self, owner: Any, name: str, activity: str) -> None:
        self.activity = activity
        self.runs: tuple[Activities, ...] = ()
        super().__init__(owner, name, self._timing)

    def _timing(self, original: Any) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            began, result = monotonic(), None
            try:
                result = original(*args, **kwargs)
                return result
            finally:
                if not iscoroutine(result):  # of an asynchronous client: it hasn't begun
                    self._note(began)

        async def timed_coroutine(*args: Any, **kwargs: Any) -> Any:
            began = monotonic()
            try:
                return await original(*args, **kwargs)
            finally:
                self._note(began)

        wrapper = timed_coroutine if iscoroutinefunction(original) else timed
        return functools.wraps(original)(_of_module(wrapper, original.__module__))

    def _note(self, began: float) -> None:
        """Of several runs in threads for those that are open here; where none is, for all."""
        ended = monotonic()
        here = {id(run.activities) for run in open_runs_here()}
        for run in [run for run in self.runs if id(run) in here] or self.runs:
            run.add(self.activity, began, ended)


def _of_module(function: Any, name: str) -> Any:
    """The function as if it were of another module.

    Dask leaves frames of its own modules out of the code that submitted a graph; ours would be in its place.
    """
    names = {**function.__globals__, "__name__": name}
    return FunctionType(function.__code__, names, function.__name__, closure=function.__closure__)


_wrapped: dict[tuple[int, str], _Timed] = {}
"""by id of the owner and name"""
_lock = Lock()


def watch(client: Any) -> Activities:
    """Begin to time what the client does."""
    run = Activities()
    with _lock:
        for owner, name, activity in _functions(client):
            with suppress(Exception):  # another version of Dask: this activity is not timed
                key = id(owner), name
                if key not in _wrapped:
                    _wrapped[key] = _Timed(owner, name, activity)
                _wrapped[key].runs += (run,)
    return run


def unwatch(run: Activities) -> None:
    with _lock:
        for key, wrapped in list(_wrapped.items()):
            wrapped.runs = tuple(one for one in wrapped.runs if one is not run)
            if not wrapped.runs:
                del _wrapped[key]
                with suppress(Exception):
                    wrapped.unwrap()


def _functions(client: Any) -> Iterator[tuple[Any, str, str]]:
    for name, activity in OF_CLIENT.items():
        yield client, name, activity
    for functions in (OF_DASK, OF_EARLIER_DASK):
        for module, name in functions.items():
            with suppress(ImportError):
                yield import_module(module), name, OPTIMIZING
    for module, owner, name, activity in WITHOUT_SYNC:
        yield getattr(import_module(module), owner), name, activity
