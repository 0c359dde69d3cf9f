"""Reads row groups of files a few ahead of who uses what is found, in threads or on a Dask cluster.

They do not depend on each other, so that several are read at a time; archiving's rows come from one cursor
(files/own_thread.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Generic, TypeVar

import pyarrow as pa

from observatory.store.archive.scans.conditions import Condition
from observatory.store.archive.scans.readers import Pending, Reader, Wanted, reader_of, wanted_files
from observatory.store.archive.scans.row_groups import Read, RowGroup, read_row_group
from observatory.store.places.askers import require_asker
from observatory.store.reading.scanned_files import SCANNED_FILES, ScannedFiles

FEW_BYTES = 1 << 20
"""of rows that were found in a row group: after more of them nothing is read ahead in this process"""
Found = TypeVar("Found")


class ReadingAhead(Generic[Found]):
    """What `read` finds in row groups, in their order. Methods raise ArchiveError and AskerGone."""

    def __init__(
        self,
        groups: Iterator[tuple[RowGroup, Condition]],
        read: Read[Found],
        wanted: Iterable[Wanted],
        reader: Reader | None = None,
    ) -> None:
        """`wanted`: what the row groups are of. Without a `reader` the number of rows decides who reads."""
        files = wanted_files(wanted)
        self._groups, self._read, self._reader = groups, read, reader or reader_of(files)
        self._files = SCANNED_FILES.get() or ScannedFiles()
        self._files.of += len(files)
        self._unread, self._piece = len(files), -1
        self._following: tuple[RowGroup, Condition] | None = None
        """is not begun, and nothing before it is left"""
        self._begun: deque[tuple[RowGroup, Pending[Found]]] = deque()
        self._ahead = self._reader.ahead

    @property
    def is_here(self) -> bool:
        """Whether this process reads."""
        return self._reader.is_here

    def following(self) -> RowGroup | None:
        """The row group that `read` is for; None after the last one."""
        if self._begun:
            return self._begun[0][0]
        self._following = self._following or next(self._groups, None)
        if self._following is None:
            self._note_read(self._unread)  # others had no row group that counts
            return None
        return self._following[0]

    def read(self) -> Found:
        """What is found in the row group that follows."""
        require_asker()
        while len(self._begun) <= self._ahead and self._begin():
            pass
        group, pending = self._begun.popleft()
        found = pending.result()
        if group.piece.id != self._piece and self._unread:
            self._piece = group.piece.id
            self._note_read(1)
        is_much = self._reader.is_here and isinstance(found, pa.Table) and found.nbytes > FEW_BYTES
        self._ahead = 0 if is_much else self._reader.ahead
        return found

    def close(self) -> None:
        for _, pending in self._begun:
            pending.cancel()
        self._begun.clear()

    def _note_read(self, files: int) -> None:
        self._files.read += files
        self._unread -= files

    def _begin(self) -> bool:
        each = self._following or next(self._groups, None)
        self._following = None
        if each is None:
            return False
        group, condition = each
        here = partial(self._read, group, condition)
        there = partial(read_row_group, self._read, group.place, group.piece, group.number, condition)
        self._begun.append((group, self._reader.submit(here, there)))
        return True
