"""The store's tables as text: what the migrations made, as the database describes it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import psycopg

COLUMNS = """SELECT attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attstorage,
        pg_get_expr(adbin, adrelid)
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
INDEXES = """SELECT pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = to_regclass(%s) ORDER BY 1"""
CONSTRAINTS = """SELECT contype, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = to_regclass(%s) AND contype <> 'n' ORDER BY 1, 2"""


def columns_of(connection: psycopg.Connection, table: str) -> list[str]:
    return [" ".join(map(str, row)) for row in connection.execute(COLUMNS, [table])]


def indexes_of(connection: psycopg.Connection, table: str) -> list[str]:
    """Without the names of the index and of the table."""
    found = (definition for (definition,) in connection.execute(INDEXES, [table]))
    return sorted(re.sub(r"INDEX \S+ ON (ONLY )?\S+", "INDEX", definition) for definition in found)


def description_of(connection: psycopg.Connection, tables: Iterable[str]) -> str:
    """Each table's columns, indexes and constraints; the same on both engines."""
    lines: list[str] = []
    for table in sorted(tables):
        lines += [f"{table}:", *columns_of(connection, table), *indexes_of(connection, table)]
        lines += [f"{kind}: {definition}" for kind, definition in connection.execute(CONSTRAINTS, [table])]
    return "\n".join(lines) + "\n"
