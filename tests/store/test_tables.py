from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import psycopg
from django.core.management import call_command

from observatory.store.engines import choose
from observatory.store.schema.create import drop_key_hashes
from observatory.store.schema.dimensions import DIMENSIONS
from observatory.store.schema.time_series import RECORDED, TIME_SERIES

Rows = Callable[..., list[tuple[Any, ...]]]

NAMES = [*DIMENSIONS, *(table.name for table in TIME_SERIES)]


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
        assert tables >= {table.name for table in TIME_SERIES}
        settings = rows("SELECT current_setting('timescaledb.license')")
        policies = rows(
            """SELECT count(*) FROM timescaledb_information.jobs
               WHERE proc_name = 'policy_compression' AND hypertable_name = ANY(%s)""",
            [table.name for table in TIME_SERIES],
        )
        assert policies == [(len(TIME_SERIES) if settings == [("timescale",)] else 0,)]
    else:
        kinds = rows(
            "SELECT relkind FROM pg_class WHERE relname = ANY(%s)", [table.name for table in TIME_SERIES]
        )
        assert [bytes(kind, "ascii") if isinstance(kind, str) else kind for (kind,) in kinds] == [b"p"] * len(
            TIME_SERIES
        )


def test_tables_of_an_earlier_version_lose_their_hashes_of_keys_and_keep_their_rows(
    connection: psycopg.Connection, rows: Rows
) -> None:
    indexes = "SELECT count(*) FROM pg_index WHERE indrelid = 'steal'::regclass"
    [(today,)] = rows(indexes)
    choose(connection).prepare(connection, RECORDED["steal"], [date.today()])
    connection.execute("ALTER TABLE steal ADD COLUMN key_hash integer NOT NULL DEFAULT 7")
    connection.execute("CREATE INDEX ON steal USING btree (cluster_id, key_hash)")
    connection.execute(
        """INSERT INTO steal (time, cost, victim_occupancy, thief_occupancy, cluster_id, group_id, level,
               outcome, key_rest, victim, thief)
           VALUES (now(), 1, 1, 1, 999, 1, 1, 'request', 'x', 'a', 'b')"""
    )
    try:
        drop_key_hashes(connection)
        assert rows("SELECT key_rest FROM steal WHERE cluster_id = 999") == [("x",)]
        assert (
            rows("SELECT 1 FROM pg_attribute WHERE attrelid = 'steal'::regclass AND attname = 'key_hash'")
            == []
        )
        assert rows(indexes) == [(today,)]
    finally:
        connection.execute("DELETE FROM steal WHERE cluster_id = 999")
