"""Rows of tables that no model has any more, such as those of single sign-on after it was switched off.

The database refuses to delete a row that they refer to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import psycopg
from psycopg import sql

REFERRING = """
    SELECT class.relname, attribute.attname FROM pg_constraint
    JOIN pg_class class ON class.oid = conrelid
    JOIN pg_attribute attribute ON attribute.attrelid = conrelid AND attribute.attnum = conkey[1]
    WHERE contype = 'f' AND cardinality(conkey) = 1 AND confrelid = to_regclass(%s)
      AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = conrelid AND attname = 'id')
    ORDER BY 1, 2"""


def count_unknown_rows(
    connection: psycopg.Connection, table: str, numbers: Sequence[int], known: Collection[str]
) -> int:
    """The number of rows of tables not in `known` that refer to rows of `table`, and of those that refer to
    them."""
    return sum(len(rows) for _, rows in _referring(connection, table, numbers, known))


def delete_unknown_rows(
    connection: psycopg.Connection, table: str, numbers: Sequence[int], known: Collection[str]
) -> int:
    """Deletes them; returns their number."""
    found = list(_referring(connection, table, numbers, known))
    with connection.transaction():
        for name, rows in found:
            delete = sql.SQL("DELETE FROM {} WHERE id = ANY(%s)").format(sql.Identifier(name))
            connection.execute(delete, [rows])
    return sum(len(rows) for _, rows in found)


def _referring(
    connection: psycopg.Connection, table: str, numbers: Sequence[int], known: Collection[str]
) -> Iterator[tuple[str, list[int]]]:
    """Tables and the ids of their rows, those that refer to others first."""
    for name, column in connection.execute(REFERRING, [table]).fetchall():
        if name in known or name == table:
            continue
        named = sql.Identifier(name), sql.Identifier(column)
        query = sql.SQL("SELECT id FROM {} WHERE {} = ANY(%s)").format(*named)
        rows = [row for (row,) in connection.execute(query, [list(numbers)]).fetchall()]
        if rows:
            yield from _referring(connection, name, rows, known)
            yield name, rows
