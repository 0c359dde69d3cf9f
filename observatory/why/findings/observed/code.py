"""The code in which samples of a profile saw tasks or event loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import psycopg

from observatory.replay.scope import Scope, Section
from observatory.runs.errors.places import LIBRARY
from observatory.store.queries.windows import findings as store

MOST_PLACES = 3
MOST_STACKS = 100
IDLE = frozenset({"select", "poll", "epoll", "_run_once", "run_forever"})
"""functions of an event loop that waits"""
CALLS_TASKS = re.compile(
    r"^__call__\t.*dask[/\\]_task_spec\.py|^apply_function(_simple)?\t.*distributed[/\\]worker\.py"
)
"""Dask's own, which call the functions of tasks: innermost where a function is not written in Python"""
Frame = tuple[str, str, str]
"""function, file, line"""


class SeenCode:
    """The functions in which tasks and event loops were seen most often. Empty where the code isn't shown."""

    def __init__(
        self,
        connection: psycopg.Connection,
        scope: Scope,
        start: int,
        stop: int,
        text: Callable[[str], str],
    ) -> None:
        """`text`: what may be shown of a text."""
        self._connection, self._scope, self._text = connection, scope, text
        self._start, self._stop = start, stop

    def of_loops(self, *workers: int) -> list[str]:
        """Of the event loops of workers (0: the scheduler's), without loops that wait for events."""
        if not self._is_shown:
            return []
        window = self._start, self._stop
        cluster = self._scope.cluster.pk
        stacks = store.loop_stacks(self._connection, cluster, workers, *window, MOST_STACKS)
        return places(stacks, self._text)

    def of_tasks(self, *prefixes: int) -> list[str]:
        return self.of_stacks(self.task_stacks(prefixes)) if self._is_shown else []

    def of_stacks(self, stacks: Sequence[tuple[str, int]]) -> list[str]:
        """In which stacks end."""
        return places(stacks, self._text) if self._is_shown else []

    def task_stacks(
        self, prefixes: Sequence[int], since: int = 0, until: int | None = None
    ) -> list[tuple[str, int]]:
        """The frames in which tasks of prefixes were seen between two times (microseconds), most first."""
        window = max(self._start, since), self._stop if until is None else min(self._stop, until)
        cluster = self._scope.cluster.pk
        return store.task_stacks(self._connection, cluster, prefixes, *window, MOST_STACKS)

    @property
    def _is_shown(self) -> bool:
        return Section.CODE in self._scope.sections


def places(stacks: Sequence[tuple[str, int]], text: Callable[[str], str]) -> list[str]:
    """Return the innermost frames of stacks; of a library's, with the user's own code that called it.

    `stacks`: frames, outermost first, and how often they were seen. `text`: what may be shown of a text.
    """
    found = []
    for frames, _ in stacks:
        called = [_frame(frame.split("\t")) for frame in frames.split("\n")]
        if called[-1][0] in IDLE or CALLS_TASKS.search("\t".join(called[-1])):
            continue
        own = next((frame for frame in reversed(called) if not LIBRARY.search(frame[1])), called[-1])
        place = text(_place(called[-1]))
        found.append(place if own == called[-1] else f"{place}, called by {text(_place(own))}")
    return list(dict.fromkeys(found))[:MOST_PLACES]


def _frame(parts: list[str]) -> Frame:
    name, file, line = (*parts, "", "")[:3]
    return name, file, line


def _place(frame: Frame) -> str:
    name, file, line = frame
    return f"{name} ({file}:{line})"
