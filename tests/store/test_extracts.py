"""Extracts leave out no column of the store's tables, and no table that holds records."""

from __future__ import annotations

import psycopg

from observatory.store.schema.dimensions import DIMENSIONS, REFERRED
from observatory.store.schema.time_series import time_series
from observatory.store.transfer.extract_tables import record_tables, tables

MADE_ANEW = {
    "worker": {"position"},
    "prefix": {"color"},
    "series": {"identity"},
    "stack": {"identity"},
}
"""columns that follow from the others"""
COUNTED = {"agent", "extent", "keyframe", "tile", "hole", "opened_run", "late"}
"""tables of what follows from the records, is of the cluster here, or is told and taken up at once"""


def test_every_column_of_every_table_is_in_an_extract(connection: psycopg.Connection) -> None:
    for table in tables():
        rows = connection.execute(
            """SELECT column_name FROM information_schema.columns
               WHERE table_schema = 'public' AND table_name = %s""",
            [table.name],
        ).fetchall()
        stored = {name for (name,) in rows} - {"cluster_id"} - MADE_ANEW.get(table.name, set())
        assert {column.name for column in table.columns} == stored, table.name


def test_every_table_that_holds_records_is_in_an_extract() -> None:
    assert {table.name for table in record_tables()} == {table.name for table in time_series()}
    assert {table.name for table in REFERRED} == set(DIMENSIONS) - COUNTED


def test_each_table_comes_after_those_that_it_refers_to() -> None:
    seen: set[str] = set()
    for table in tables():
        assert {column.refers for column in table.columns} - {""} <= seen, table.name
        seen.add(table.name)
