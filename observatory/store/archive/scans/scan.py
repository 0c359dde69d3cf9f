"""Scans a cluster's files of one kind from one end of its time to the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from itertools import chain
from time import monotonic

import numpy as np
import pyarrow as pa

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.files.columns import TIME
from observatory.store.archive.place import Place
from observatory.store.archive.scans.conditions import INSTANT, Condition
from observatory.store.archive.scans.matching import matching_rows
from observatory.store.archive.scans.readers import Threads, Wanted
from observatory.store.archive.scans.reading_ahead import ReadingAhead
from observatory.store.archive.scans.row_groups import RowGroup, row_groups
from observatory.store.archive.scans.shadows import Shadow
from observatory.store.times import to_microseconds
from observatory.wire.kinds import KINDS

MOST_BYTES = 128 << 20
"""of rows that are wanted all at once"""
AT_ONCE = 0.4
"""seconds after which `cover` returns, once it has read a row group"""
FEW_ROWS = 4_000
"""that are found, after which it returns as well"""
EXPORTED_ROWS = 20_000
"""likewise, for an export"""


class Scan:
    """Methods raise ArchiveError and psycopg.Error."""

    def __init__(
        self,
        pieces: list[Piece],
        condition: Condition,
        shadow: Shadow,
        goes_back: bool,
        is_export: bool = False,
    ) -> None:
        """An export wants nearly all rows: its parts are larger, and less is read ahead of it, here."""
        self._condition = condition
        self._rows = EXPORTED_ROWS if is_export else FEW_ROWS
        self._is_export = is_export
        self._shadow, self._goes_back = shadow, goes_back
        # each file begins where the one before ends
        self._pieces = sorted(pieces, key=lambda piece: piece.start, reverse=goes_back)
        self._time = KINDS[pieces[0].kind].time if pieces else ""
        self._reading: ReadingAhead[pa.Table | None] | None = None
        self._waiting: list[pa.Table] = []
        """rows that were read, and are not in the table, of each row group in order of time"""
        self._covered: tuple[datetime, datetime] | None = None

    def close(self) -> None:
        if self._reading:
            self._reading.close()

    def cover(self, place: Place, start: datetime, stop: datetime) -> datetime:
        """Have the rows of a part of [start, stop) in their table; returns where the part ends.

        It begins at `stop` where the scan goes back, else at `start`. Each call is for what comes after the
        parts before, or for the rest of the last one.
        """
        if self._covered:
            low, high = self._covered
            if low < stop <= high if self._goes_back else low <= start < high:
                return max(low, start) if self._goes_back else min(high, stop)
        if self._reading is None:
            self._reading = self._begin(place, start, stop)
        low, high = self._next(self._reading, start, stop)
        self._covered = low, high
        return low if self._goes_back else high

    def _begin(self, place: Place, start: datetime, stop: datetime) -> ReadingAhead[pa.Table | None]:
        """Of all that is beyond the edge from which the scan goes on."""
        own = self._condition
        whole = replace(own, stop=stop) if self._goes_back else replace(own, start=start)
        reader = Threads(1) if self._is_export else None
        return ReadingAhead(self._groups(place, start, stop), matching_rows, [(self._pieces, whole)], reader)

    def _groups(self, place: Place, start: datetime, stop: datetime) -> Iterator[tuple[RowGroup, Condition]]:
        """Those with times in the stretch or beyond, in order. A file is opened when it is its turn."""
        for piece in self._pieces:
            if piece.start >= stop if self._goes_back else piece.stop <= start:
                continue
            groups = list(row_groups(place, [piece], self._condition))
            groups.sort(key=_last if self._goes_back else _first, reverse=self._goes_back)
            for group in groups:
                if group.first < stop if self._goes_back else group.last >= start:
                    yield group, self._condition

    def _next(
        self, reading: ReadingAhead[pa.Table | None], start: datetime, stop: datetime
    ) -> tuple[datetime, datetime]:
        until = monotonic() + AT_ONCE
        while True:
            edge = self._edge(reading.following(), start, stop)
            part = (edge, stop) if self._goes_back else (start, edge)
            found = self._found(*part)
            if edge == (start if self._goes_back else stop):
                break
            if part[0] < part[1] and (found.num_rows >= self._rows or monotonic() > until):
                break
            if (rows := reading.read()) is not None:
                self._waiting.append(rows.sort_by(self._time))
        if found.num_rows > self._rows:
            part, found = self._cut(*part, found)
        self._shadow.fill(found)
        return part

    def _edge(self, group: RowGroup | None, start: datetime, stop: datetime) -> datetime:
        """How far all rows are read before a group: times of those to come do not reach there."""
        if self._goes_back:
            return start if group is None else max(start, min(group.last + INSTANT, stop))
        return stop if group is None else min(stop, max(group.first, start))

    def _found(self, start: datetime, stop: datetime) -> pa.Table:
        """The waiting rows of [start, stop), in order of time; those that are past are dropped."""
        kept, found = [], []
        for rows in self._waiting:
            first, last = (_rows_before(rows.column(self._time), edge) for edge in (start, stop))
            left = rows.slice(0, last) if self._goes_back else rows.slice(first)
            if left.num_rows:
                kept.append(left)
                found.append(rows.slice(first, last - first))
        self._waiting = kept
        if not found:
            return pa.table({self._time: pa.array([], TIME)})
        return found[0] if len(found) == 1 else pa.concat_tables(found).sort_by(self._time)

    def _cut(
        self, start: datetime, stop: datetime, found: pa.Table
    ) -> tuple[tuple[datetime, datetime], pa.Table]:
        """The nearest rows, with all of the last one's time."""
        times = found.column(self._time)
        if self._goes_back:
            edge = times[found.num_rows - self._rows].as_py()
            return (edge, stop), found.slice(_rows_before(times, edge))
        edge = times[self._rows - 1].as_py() + INSTANT
        return (start, edge), found.slice(0, _rows_before(times, edge))


def _rows_before(times: pa.ChunkedArray, time: datetime) -> int:
    """How many of times that are in order come before another."""
    return int(np.searchsorted(times.cast(pa.int64()).to_numpy(), to_microseconds(time)))


def all_rows(
    place: Place, wanted: Mapping[str, Sequence[Wanted]], most: int, until: float
) -> dict[str, pa.Table] | None:
    """All rows that meet a condition of their kind; None for more than `most` or MOST_BYTES of them.

    No row may meet two of the conditions. None after `until` as well, one of time.monotonic(). Raises
    ArchiveError.
    """
    found: dict[str, list[pa.Table]] = {kind: [] for kind in wanted}
    number = size = 0
    each_wanted = list(chain(*wanted.values()))
    groups = (
        (group, condition)
        for pieces, condition in each_wanted
        for group in row_groups(place, pieces, condition)
    )
    reading = ReadingAhead(groups, matching_rows, each_wanted)
    with closing(reading):
        while (group := reading.following()) is not None:
            if (rows := reading.read()) is not None:
                found[group.kind.name].append(rows)
                number, size = number + rows.num_rows, size + rows.nbytes
            if number > most or size > MOST_BYTES or monotonic() > until:
                return None
    return {kind: _together(each) for kind, each in found.items()}


def _together(tables: list[pa.Table]) -> pa.Table:
    """All rows. Columns that a condition tests are texts, and in tables of others numbers of these."""
    if not tables:
        return pa.table({})
    schema = tables[0].schema
    for number, name in enumerate(schema.names):
        if any(table.schema.field(name).type == pa.string() for table in tables):
            schema = schema.set(number, pa.field(name, pa.string()))
    return pa.concat_tables([table.cast(schema) for table in tables])


def _first(group: RowGroup) -> datetime:
    return group.first


def _last(group: RowGroup) -> datetime:
    return group.last
