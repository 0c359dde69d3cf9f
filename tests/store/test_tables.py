from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command

import observatory.store.migrations
from observatory.store.engines import choose
from observatory.store.schema.dimensions import CATALOGUE, DIMENSIONS
from observatory.store.schema.time_series import table_of, time_series
from observatory.wire.kind import Kind
from observatory.wire.kinds import stored_kinds
from tests.store.tables import columns_of, description_of, indexes_of

MIGRATIONS = Path(observatory.store.migrations.__path__[0])
EXPECTED = Path(__file__).with_name("tables.txt")
Rows = Callable[..., list[tuple[Any, ...]]]

NAMES = [*DIMENSIONS, *CATALOGUE, *(table.name for table in time_series())]


def _present(rows: Rows) -> list[str]:
    return [name for name in NAMES if rows("SELECT to_regclass(%s) IS NOT NULL", name) == [(True,)]]


def test_the_migration_can_be_taken_back_and_made_again(rows: Rows) -> None:
    assert _present(rows) == NAMES
    try:
        call_command("migrate", "store", "zero", verbosity=0)
        assert _present(rows) == []
    finally:
        call_command("migrate", "store", verbosity=0)
    assert _present(rows) == NAMES


def test_time_series_are_kept_by_the_engine_that_the_database_has(
    connection: psycopg.Connection, rows: Rows
) -> None:
    if choose(connection).name == "timescale":
        tables = {name for (name,) in rows("SELECT hypertable_name FROM timescaledb_information.hypertables")}
        assert tables >= {table.name for table in time_series()}
        settings = rows("SELECT current_setting('timescaledb.license')")
        policies = rows(
            """SELECT count(*) FROM timescaledb_information.jobs
               WHERE proc_name = 'policy_compression' AND hypertable_name = ANY(%s)""",
            [table.name for table in time_series()],
        )
        assert policies == [(len(time_series()) if settings == [("timescale",)] else 0,)]
    else:
        kinds = rows(
            "SELECT relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname = ANY(%s)",
            [table.name for table in time_series()],
        )
        assert [bytes(kind, "ascii") if isinstance(kind, str) else kind for (kind,) in kinds] == [b"p"] * len(
            time_series()
        )


def test_the_migrations_make_the_tables_that_they_always_made(connection: psycopg.Connection) -> None:
    assert description_of(connection, NAMES) == EXPECTED.read_text()


def test_no_migration_uses_the_stores_code_of_today() -> None:
    for path in MIGRATIONS.rglob("*.py"):
        for line in path.read_text().splitlines():
            if line.startswith(("from observatory", "import observatory")):
                assert line.startswith("from observatory.store.migrations.history."), path


@pytest.mark.parametrize("kind", stored_kinds(), ids=lambda kind: kind.name)
def test_each_kind_declares_the_table_that_the_migrations_made(
    connection: psycopg.Connection, kind: Kind
) -> None:
    table = table_of(kind.name)
    with connection.transaction(force_rollback=True):
        connection.execute("CREATE SCHEMA declared")
        connection.execute("SET LOCAL search_path TO declared, public")
        choose(connection).create(connection, table)
        for described in (columns_of, indexes_of):
            declared = described(connection, f"declared.{kind.name}")
            assert sorted(declared) == sorted(described(connection, f"public.{kind.name}"))
