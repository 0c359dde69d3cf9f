"""Tests row groups in threads that all scans of a process share, a few ahead of who uses their rows.

They do not depend on each other, so that several are tested at a time; archiving's rows come from one cursor
(own_thread.py).
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from threading import get_native_id

import pyarrow as pa

from observatory.store.archive.scans.conditions import Condition
from observatory.store.archive.scans.matching import matching_rows
from observatory.store.archive.scans.row_groups import RowGroup

THREADS = 2
"""of a process: so many row groups are in memory, however many scans there are, besides the rows found"""
AHEAD = 3
"""row groups of a scan that are tested meanwhile, where few of them have wanted rows"""
NICE = 10
"""of the threads: beside others they get a tenth of a processor, without them all of it"""
FEW_BYTES = 1 << 20
"""of such rows: after more of them nothing is tested ahead"""


class ReadingAhead:
    """The wanted rows of row groups, in their order. Methods raise ArchiveError."""

    def __init__(self, groups: Iterator[tuple[RowGroup, Condition]], most_ahead: int = AHEAD) -> None:
        self._groups = groups
        self._most_ahead = most_ahead
        self._following: tuple[RowGroup, Condition] | None = None
        """is not begun, and nothing before it is left"""
        self._begun: deque[tuple[RowGroup, Future[pa.Table | None]]] = deque()
        self._ahead = most_ahead

    def following(self) -> RowGroup | None:
        """The row group that `read` is for; None after the last one."""
        if self._begun:
            return self._begun[0][0]
        self._following = self._following or next(self._groups, None)
        return self._following and self._following[0]

    def read(self) -> pa.Table | None:
        """The wanted rows of the row group that follows; None if it has none."""
        while len(self._begun) <= self._ahead and self._begin():
            pass
        _, found = self._begun.popleft()
        rows = found.result()
        self._ahead = self._most_ahead if rows is None or rows.nbytes <= FEW_BYTES else 0
        return rows

    def close(self) -> None:
        for _, found in self._begun:
            found.cancel()
        self._begun.clear()

    def _begin(self) -> bool:
        each = self._following or next(self._groups, None)
        self._following = None
        if each is None:
            return False
        self._begun.append((each[0], _threads().submit(matching_rows, *each)))
        return True


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "scan", _let_others_first)


def _let_others_first() -> None:
    """Have recording and pages come before this thread."""
    if sys.platform == "linux":  # where a thread has a priority of its own
        os.setpriority(os.PRIO_PROCESS, get_native_id(), NICE)


# a process that is forked has none of the threads
os.register_at_fork(after_in_child=_threads.cache_clear)
