"""Shares a process' places for batches among projects: none takes all of them, and they take turns."""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager


class Busy(Exception):
    """The project's share is in use, and has been for a while, or too many of its requests wait for it."""


class Shares:
    """So many places, of which a project has at most half. The last free one is for a project that has none.

    Projects whose requests wait take turns; the requests of one are served in order. Thread-safe.
    """

    def __init__(self, places: int, waiting: int, timeout: float) -> None:
        """`waiting`: most requests of a project that wait; `timeout`: how long one waits (seconds)."""
        self.most = math.ceil(places / 2)
        self.waiting = waiting
        self.timeout = timeout
        self._free = places
        self._taken: Counter[int] = Counter()
        self._queues: dict[int, deque[threading.Event]] = {}
        """by project; the project whose turn is next is first"""
        self._lock = threading.Lock()

    @contextmanager
    def place(self, project: int) -> Iterator[None]:
        """Waits for a place and holds it until the block ends. Raises Busy."""
        self._take(project)
        try:
            yield
        finally:
            with self._lock:
                self._free += 1
                self._taken[project] -= 1
                if not self._taken[project]:
                    del self._taken[project]
                self._grant()

    def is_free(self, project: int) -> bool:
        """Whether a request of the project would not have to wait."""
        with self._lock:
            return self._may_take(project)

    def _take(self, project: int) -> None:
        granted = threading.Event()
        with self._lock:
            queue = self._queues.setdefault(project, deque())
            if len(queue) >= self.waiting:
                raise Busy
            queue.append(granted)
            self._grant()
        if granted.wait(self.timeout):
            return
        with self._lock:
            if granted.is_set():
                return
            self._remove(project, granted)
        raise Busy

    def _grant(self) -> None:
        """Gives free places to those whose turn it is."""
        while (project := next(filter(self._may_take, self._queues), None)) is not None:
            granted = self._queues[project][0]
            self._remove(project, granted)
            if project in self._queues:
                self._queues[project] = self._queues.pop(project)  # the others are next
            self._free -= 1
            self._taken[project] += 1
            granted.set()

    def _remove(self, project: int, granted: threading.Event) -> None:
        self._queues[project].remove(granted)
        if not self._queues[project]:
            del self._queues[project]

    def _may_take(self, project: int) -> bool:
        taken = self._taken[project]
        return self._free > (1 if taken else 0) and taken < self.most
