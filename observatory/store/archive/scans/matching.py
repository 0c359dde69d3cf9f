"""Picks the rows of a row group that meet a condition."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from observatory.store.archive.files.columns import TIME, file_columns
from observatory.store.archive.scans.conditions import AnyOf, AtLeast, Condition, Contains, OneOf, Test
from observatory.store.archive.scans.row_groups import RowGroup

SPECIAL = frozenset("\\.+*?()|[]{}^$")
"""in a regular expression"""


def matching_rows(group: RowGroup, condition: Condition) -> pa.Table | None:
    """All columns of the rows that meet the condition; None if there are none. Raises ArchiveError."""
    return matching_columns(group, condition, [column.name for column in file_columns(group.kind)])


def matching_columns(group: RowGroup, condition: Condition, names: Sequence[str]) -> pa.Table | None:
    """Columns of the rows that meet the condition; None if there are none. Raises ArchiveError."""
    if not group.may_meet(condition):
        return None
    tested = group.read({*condition.columns, group.kind.time})
    mask = _mask(tested, group, condition)
    if mask is not None:
        mask = pc.fill_null(mask, False)
        if not pc.any(mask).as_py():
            return None
    columns = file_columns(group.kind)
    coded = [column.name for column in columns if column.is_name and column.type == pa.string()]
    others = group.read([name for name in names if name not in tested.column_names], coded)
    found = pa.table(
        {name: (tested if name in tested.column_names else others).column(name) for name in names}
    )
    return found if mask is None else found.filter(mask)


def count_matching(group: RowGroup, condition: Condition) -> int:
    """The number of rows that meet the condition. Raises ArchiveError."""
    if not condition.tests and group.is_within(condition):
        return group.rows
    if not group.may_meet(condition):
        return 0
    mask = _mask(group.read([*condition.columns, group.kind.time]), group, condition)
    return group.rows if mask is None else int(pc.sum(mask).as_py() or 0)


def rows_within(group: RowGroup, condition: Condition, columns: Collection[str]) -> pa.Table:
    """The time and some columns of all rows of the condition's time. Raises ArchiveError."""
    rows = group.read([*columns, group.kind.time])
    mask = _mask(rows, group, Condition((), condition.start, condition.stop))
    return rows if mask is None else rows.filter(mask)


def _mask(rows: pa.Table, group: RowGroup, condition: Condition) -> pa.ChunkedArray | None:
    """Which rows meet the condition; None: all."""
    times = rows.column(group.kind.time)
    masks = [_meets(rows, test) for test in condition.tests]
    if condition.start is not None and not group.is_within(condition):
        masks.append(pc.greater_equal(times, pa.scalar(condition.start, TIME)))
    if condition.stop is not None and not group.is_within(condition):
        masks.append(pc.less(times, pa.scalar(condition.stop, TIME)))
    return reduce(pc.and_kleene, masks) if masks else None


def _meets(rows: pa.Table, test: Test) -> pa.ChunkedArray:
    if isinstance(test, AtLeast):
        return pc.greater_equal(rows.column(test.column), test.value)
    if isinstance(test, AnyOf):
        return reduce(pc.or_kleene, [_meets(rows, each) for each in test.tests])
    return reduce(pc.or_kleene, [_column_meets(rows.column(name), test) for name in test.columns])


def _column_meets(column: pa.ChunkedArray, test: OneOf | Contains) -> pa.ChunkedArray:
    if isinstance(test, OneOf):
        return pc.is_in(column, pa.array(sorted(test.values), column.type))
    pattern = test.text if test.is_regex else _quoted(test.text)
    return pc.match_substring_regex(column, pattern, ignore_case=True)


def _quoted(text: str) -> str:
    """A regular expression for a text, whatever its case."""
    # of all letters with another case, İ alone is none of RE2's, and i in PostgreSQL
    return "".join(
        "[iİ]" if letter in "iIİ" else f"\\{letter}" if letter in SPECIAL else letter for letter in text
    )
