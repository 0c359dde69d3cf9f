"""The tables of SQL as views of PostgreSQL, in the schema `observatory_sql` (docs/sql.md).

They show what is in the tables: archived rows that left them are not there. A role of `roles.py` sees the
clusters of its project alone, which each view's own condition makes sure of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache

import psycopg
import pyarrow as pa
from psycopg.sql import SQL, Composable, Identifier, Literal

from observatory.store.archive.files.columns import TIME, FileColumn, file_columns
from observatory.store.queries.joins import Joins
from observatory.store.sql.own_tables import OWN_TABLES
from observatory.store.sql.roles import SCHEMA, grant_all
from observatory.store.sql.tables import STORED_TABLES, RecordTable, record_tables

OF_CLUSTER = """JOIN clusters_cluster cluster ON cluster.id = {table}.cluster_id
    JOIN clusters_project project ON project.id = cluster.project_id"""
TYPES = {
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.string(): "text",
    TIME: "timestamptz",
}
IS_VISIBLE = f"""(
    session_user = (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = '{SCHEMA}')
    OR session_user = '{SCHEMA}_' || (SELECT oid FROM pg_database WHERE datname = current_database())
        || '_' || project.id)"""
"""to the owner all, to a role of roles.py its project; it holds in a copy of the database as well"""
LONGEST_LOCK = "10s"
"""that a statement waits for queries which use a view"""


def are_current(connection: psycopg.Connection) -> bool:
    """Whether the views are there as this version has them."""
    row = connection.execute(
        "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s", [SCHEMA]
    ).fetchone()
    return row is not None and row[0] == _digest(_definitions())


def create_views(connection: psycopg.Connection) -> None:
    """Make the views as this version has them. Needs all tables."""
    definitions = _definitions()
    with connection.transaction():
        drop_views(connection)
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(SCHEMA)))
        for definition in definitions:
            connection.execute(definition)
        connection.execute(
            SQL("COMMENT ON SCHEMA {} IS {}").format(Identifier(SCHEMA), Literal(_digest(definitions)))
        )
        grant_all(connection)


def drop_views(connection: psycopg.Connection) -> None:
    """Before migrations: columns that a view shows can't be changed."""
    with connection.transaction():
        connection.execute(SQL("SET LOCAL lock_timeout = {}").format(Literal(LONGEST_LOCK)))
        connection.execute(SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(Identifier(SCHEMA)))


def _digest(definitions: Sequence[bytes]) -> str:
    return hashlib.sha256(b"\n".join(definitions)).hexdigest()


@cache
def _definitions() -> tuple[bytes, ...]:
    return tuple(statement.as_bytes() for statement in _statements())


def _statements() -> Iterator[Composable]:
    selects: list[tuple[str, list[str], Composable]] = [
        *((table.name, table.schema.names, _select_of(table)) for table in record_tables()),
        *((table.name, table.schema.names, SQL(table.select)) for table in (*STORED_TABLES, *OWN_TABLES)),
    ]
    for name, columns, select in selects:
        yield SQL("CREATE VIEW {} ({}) WITH (security_barrier) AS {} WHERE {}").format(
            Identifier(SCHEMA, name), SQL(", ").join(map(Identifier, columns)), select, SQL(IS_VISIBLE)
        )


def _select_of(table: RecordTable) -> Composable:
    kind = table.kind
    joins = Joins(kind.name, kind.columns)
    columns = [_column(column, joins) for column in file_columns(kind)]
    return SQL("SELECT project.slug, cluster.scheduler_id, {} FROM {} {} {}").format(
        SQL(", ").join(columns),
        Identifier(kind.name),
        SQL(joins.sql),
        SQL(OF_CLUSTER.format(table=kind.name)),
    )


def _column(column: FileColumn, joins: Joins) -> Composable:
    """A column as the files of the archive have it."""
    *references, name = (column.source, *column.path)
    alias, _ = joins.join(tuple(references))
    value: Composable = Identifier(alias, name)
    if column.labels:
        value = SQL(
            "CASE WHEN {value} IS NOT NULL THEN coalesce(({labels}::text[])[{value} + 1], 'unknown') END"
        ).format(value=value, labels=Literal(list(column.labels)))
    elif column.group:
        group, _ = joins.join((column.group,))
        # the first alone, as store.keys.decode_key does
        value = SQL("regexp_replace({}, U&'\\0001', replace({}, '\\', '\\\\'))").format(
            value, Identifier(group, "name")
        )
    return SQL("({})::{}").format(value, SQL(TYPES[column.type]))
