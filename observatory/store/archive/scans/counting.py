"""Counts rows of files: by their footers, and by values and time."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.place import Place
from observatory.store.archive.scans.conditions import Condition
from observatory.store.archive.scans.matching import count_matching, rows_within
from observatory.store.archive.scans.row_groups import row_groups

BIN, COUNT = "bin", "count"


def count(place: Place, pieces: Sequence[Piece], condition: Condition, until: float) -> int | None:
    """The number of rows that meet a condition.

    None after `until`, one of time.monotonic(). Raises ArchiveError.
    """
    found = 0
    for group in row_groups(place, pieces, condition):
        if group.may_meet(condition):
            found += count_matching(group, condition)
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
    for group in row_groups(place, pieces, condition):
        rows = rows_within(group, condition, columns)
        times = pc.cast(pc.cast(rows.column(group.kind.time), pa.timestamp("us")), pa.int64())
        bins = pc.divide(pc.subtract(times, first), width)
        rows = rows.select(columns).append_column(BIN, bins)
        counted.append(rows.group_by(by).aggregate([([], "count_all")]).rename_columns([*by, COUNT]))
        if monotonic() > until:
            return None
    if not counted:
        return {name: [] for name in (*by, COUNT)}
    together = pa.concat_tables(counted).group_by(by).aggregate([(COUNT, "sum")])
    return together.rename_columns([*by, COUNT]).to_pydict()  # type: ignore[no-any-return]
