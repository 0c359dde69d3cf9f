"""Counts rows of files: by their footers, and by values and time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from time import monotonic
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.place import Place
from observatory.store.archive.scans.conditions import Condition
from observatory.store.archive.scans.matching import count_matching, rows_within
from observatory.store.archive.scans.readers import Threads
from observatory.store.archive.scans.reading_ahead import ReadingAhead
from observatory.store.archive.scans.row_groups import RowGroup, row_groups

BIN, COUNT = "bin", "count"


def count(place: Place, pieces: Sequence[Piece], condition: Condition, until: float) -> int | None:
    """The number of rows that meet a condition.

    None after `until`, one of time.monotonic(). Raises ArchiveError.
    """
    found = 0
    groups = ((group, condition) for group in row_groups(place, pieces, condition))
    # without a test of values, footers tell nearly all
    reader = None if condition.tests else Threads()
    with closing(ReadingAhead(groups, count_matching, [(pieces, condition)], reader)) as reading:
        while reading.following() is not None:
            found += reading.read()
            if monotonic() > until:
                return None
    return found


def count_by(
    place: Place,
    pieces: Sequence[Piece],
    condition: Condition,
    columns: tuple[str, ...],
    first: int,
    width: int,
    until: float,
) -> dict[str, list[Any]] | None:
    """The numbers of rows of a stretch of time, by values of columns and bins of a width (microseconds).

    None after `until`, one of time.monotonic(). Raises ArchiveError.
    """
    by = [*columns, BIN]
    counted: list[pa.Table] = []
    groups = ((group, condition) for group in row_groups(place, pieces, condition))
    read = partial(_counted_by, columns=columns, first=first, width=width)
    with closing(ReadingAhead(groups, read, [(pieces, condition)])) as reading:
        while reading.following() is not None:
            counted.append(reading.read())
            if monotonic() > until:
                return None
    if not counted:
        return {name: [] for name in (*by, COUNT)}
    together = pa.concat_tables(counted).group_by(by).aggregate([(COUNT, "sum")])
    return together.rename_columns([*by, COUNT]).to_pydict()  # type: ignore[no-any-return]


def _counted_by(
    group: RowGroup, condition: Condition, columns: tuple[str, ...], first: int, width: int
) -> pa.Table:
    """The counts of one row group."""
    by = [*columns, BIN]
    rows = rows_within(group, condition, columns)
    times = pc.cast(pc.cast(rows.column(group.kind.time), pa.timestamp("us")), pa.int64())
    bins = pc.divide(pc.subtract(times, first), width)
    rows = rows.select(columns).append_column(BIN, bins)
    return rows.group_by(by).aggregate([([], "count_all")]).rename_columns([*by, COUNT])
