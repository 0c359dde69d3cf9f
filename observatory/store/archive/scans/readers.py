"""Who reads files of scans: threads that all scans of this process share, or workers of a Dask cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import get_native_id
from typing import Protocol, TypeVar

from django.conf import settings

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.scans.conditions import Condition
from observatory.store.archive.scans.row_groups import may_have_rows

THREADS = 2
"""of a process: so many row groups are in memory, however many scans there are, besides the rows found"""
AHEAD = 3
"""row groups of a scan that are read meanwhile, where few of them have wanted rows"""
NICE = 10
"""of the threads: beside others they get a tenth of a processor, without them all of it"""
MANY_ROWS = 2_000_000
"""in the files of a scan, from which on it is one for a Dask cluster: threads read them in about a second"""
Found = TypeVar("Found")
FoundHere = TypeVar("FoundHere", covariant=True)
Wanted = tuple[Sequence[Piece], Condition]


class Pending(Protocol[FoundHere]):
    """What a part of files is read for. `result` raises ArchiveError."""

    def result(self) -> FoundHere: ...

    def cancel(self) -> object: ...


class Reader(Protocol):
    @property
    def ahead(self) -> int:
        """The number of parts that are read before they are asked for."""

    @property
    def is_here(self) -> bool:
        """Whether what is found takes memory of this process."""

    def submit(self, here: Callable[[], Found], there: Callable[[], Found]) -> Pending[Found]:
        """Have a part of files read: by `here` in this process, or by `there` in another, which gets it."""


class Threads:
    """Those of this process."""

    is_here = True

    def __init__(self, ahead: int = AHEAD) -> None:
        self.ahead = ahead

    def submit(self, here: Callable[[], Found], there: Callable[[], Found]) -> Pending[Found]:
        return _threads().submit(here)


def wanted_files(wanted: Iterable[Wanted]) -> list[Piece]:
    """The files that can have rows which meet their condition, as the catalogue says."""
    return [piece for pieces, condition in wanted for piece in pieces if may_have_rows(piece, condition)]


def reader_of(files: Iterable[Piece]) -> Reader:
    """Who reads these files."""
    if settings.SCAN_SCHEDULER and sum(piece.rows for piece in files) >= MANY_ROWS:
        # imports distributed: 40 MB and a second, which each process would spend
        from observatory.store.archive.scans.on_dask import dask_workers

        if workers := dask_workers():
            return workers
    return Threads()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "scan", _let_others_first)


def _let_others_first() -> None:
    """Have recording and pages come before this thread."""
    if sys.platform == "linux":  # where a thread has a priority of its own
        os.setpriority(os.PRIO_PROCESS, get_native_id(), NICE)


# a process that is forked has none of the threads
os.register_at_fork(after_in_child=_threads.cache_clear)
