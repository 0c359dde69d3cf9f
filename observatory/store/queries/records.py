"""Every kind of record as people read it, names in place of ids: what exports and the API of records give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import psycopg

from observatory.store.queries.record_kinds import NAMES, RecordKind
from observatory.store.times import EPOCH, from_microseconds

ROWS_AT_ONCE = 20_000
"""that `read` holds in memory"""
Row = tuple[Any, ...]
Mark = tuple[datetime, int]
"""the time of the last row that was read, and how many rows of that time were"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows in which a column of texts has one of some values."""

    column: str
    values: Sequence[str]


def read(
    connection: psycopg.Connection,
    kind: RecordKind,
    cluster: int,
    start: int,
    stop: int,
    columns: Sequence[str],
    wanted: Wanted | None = None,
) -> Iterator[list[Row]]:
    """The rows of the window [start, stop) (microseconds) in order of time, some thousands at once.

    Needs a transaction. A row begins with its time (the epoch where the kind has none), `columns` follow.
    """
    with connection.cursor(name="records", binary=True) as cursor:
        parameters = _parameters(cluster, start, stop, wanted)
        cursor.execute(f"{_query(kind, columns, wanted)} ORDER BY 1", parameters)
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield rows


def page(
    connection: psycopg.Connection,
    kind: RecordKind,
    cluster: int,
    start: int,
    stop: int,
    columns: Sequence[str],
    limit: int,
    mark: Mark | None = None,
    wanted: Wanted | None = None,
) -> tuple[list[Row], Mark | None]:
    """At most `limit` rows as `read` gives them, after the mark, and a mark to go on from if there are more.

    Rows of one time are in the order of their hashes: those whose hashes are the same are the same in all.
    """
    after, skip = mark or (EPOCH, 0)
    rows = connection.execute(
        f"""{_query(kind, columns, wanted)} AND {kind.order} >= %(after)s
            ORDER BY 1, hash_record_extended({kind.table}, 0) OFFSET %(skip)s LIMIT %(limit)s""",
        {**_parameters(cluster, start, stop, wanted), "after": after, "skip": skip, "limit": limit + 1},
        binary=True,
    ).fetchall()
    if len(rows) <= limit:
        return rows, None
    rows.pop()
    last = rows[-1][0]
    return rows, (last, sum(row[0] == last for row in rows) + (skip if last == after else 0))


def _query(kind: RecordKind, columns: Sequence[str], wanted: Wanted | None) -> LiteralString:
    selected: LiteralString = ", ".join([kind.columns[name].sql for name in columns])
    condition: LiteralString = kind.condition
    if wanted is not None:
        condition += f" AND {kind.columns[wanted.column].sql} = ANY(%(wanted)s)"
    return f"""SELECT {kind.order}, {selected} FROM {kind.table} {kind.joins}
        WHERE {kind.table}.cluster_id = %(cluster)s AND {condition}"""


def _parameters(cluster: int, start: int, stop: int, wanted: Wanted | None) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "start": from_microseconds(start),
        "stop": from_microseconds(stop),
        "wanted": list(wanted.values) if wanted else None,
        **{name: list(values) for name, values in NAMES.items()},
    }
