"""The views of PostgreSQL: the same tables as those of SQL, and roles that see one project alone."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from psycopg import sql as psql

from observatory.clusters.models import Cluster, Project
from observatory.exchange.management.commands import sql_access
from observatory.runs.models import Run, RunError, RunFindings
from observatory.store.connection import parameters
from observatory.store.sql import views
from observatory.store.sql.query import run_query, tables_by_name
from observatory.store.sql.roles import SCHEMA, Access, make_role, remove_role, roles
from observatory.store.times import from_seconds
from tests.exchange.everything import START, STOP, write_everything
from tests.store.archive.conftest import cluster, connection
from tests.store.sql.test_query import LIMITS, seen
from tests.support.projects import HOSTILE, World, world

__all__ = ["cluster", "connection", "world"]

PAGE = Path(__file__).parents[3] / "docs/sql.md"
NAMES = list(tables_by_name())


@pytest.fixture
def run(cluster: Cluster, world: World) -> Run:
    world.run.delete()
    start, stop = from_seconds(START), from_seconds(STOP)
    run = Run.objects.create(
        cluster=cluster, name=HOSTILE, origin="cut", start=start, stop=stop, tags={"ü": [1, None]}
    )
    found = {"kind": "k", "sentence": HOSTILE, "thread_seconds": 8.5, "wall_seconds": 4, "prefixes": ["a"]}
    RunFindings.objects.create(run=run, state="found", counted=stop, all=[{**found, "exception": ""}])
    RunError.objects.create(
        run=run, place="p", prefix="sum", count=3, first=start, last=stop, last_id="0" * 32
    )
    return run


@pytest.fixture
def access(connection: psycopg.Connection, world: World) -> Iterator[Access]:
    """A role of the project Alpha."""
    yield make_role(connection, world.alpha.pk)
    for project in (world.alpha, world.beta):
        remove_role(connection, project.pk)
    assert roles(connection) == []


def sign_in(access: Access) -> psycopg.Connection:
    return psycopg.connect(
        **{**parameters(), "user": access.role, "password": access.password}, autocommit=True
    )


def rows(connection: psycopg.Connection, name: str) -> list[tuple[Any, ...]]:
    query = psql.SQL("SELECT * FROM {}").format(psql.Identifier(SCHEMA, name))
    return sorted(connection.execute(query).fetchall(), key=str)


def texts(found: Iterable[tuple[Any, ...]]) -> list[str]:
    """Rows that can be compared: NaN is not itself, and a zone has several names."""
    return sorted(
        repr([value.isoformat() if isinstance(value, datetime) else value for value in row]) for row in found
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_view_has_the_columns_of_the_table_of_sql(name: str, connection: psycopg.Connection) -> None:
    found = connection.execute(
        psql.SQL("SELECT * FROM {} LIMIT 0").format(psql.Identifier(SCHEMA, name))
    ).description
    assert [column.name for column in found or ()] == tables_by_name()[name].schema.names


def test_views_have_the_rows_of_the_tables_of_sql(run: Run, connection: psycopg.Connection) -> None:
    scope = seen(run.cluster)
    for name in NAMES:
        result = run_query(f"SELECT * FROM {name}", scope, LIMITS).rows.to_pylist()
        of_cluster = [row for row in rows(connection, name) if row[1] == run.cluster.scheduler_id]
        assert texts(of_cluster) == texts(tuple(row.values()) for row in result), name
        assert of_cluster or name == "alerts", name


def test_a_role_sees_its_project_and_no_other(
    cluster: Cluster, connection: psycopg.Connection, world: World, access: Access
) -> None:
    write_everything(world.elsewhere.pk)
    with sign_in(access) as reader:
        for name in NAMES:
            assert {row[0] for row in rows(reader, name)} <= {"alpha"}, name
        assert rows(reader, "spans")
        assert rows(reader, "runs")
    with sign_in(make_role(connection, world.beta.pk)) as reader:
        assert {row[1] for row in rows(reader, "spans")} == {world.elsewhere.scheduler_id}
    assert {row[0] for row in rows(connection, "spans")} == {"alpha", "beta"}, "the owner sees all"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM public.span",
        "SELECT * FROM public.auth_user",
        "SELECT * FROM public.clusters_project",
        "DELETE FROM observatory_sql.spans",
        "INSERT INTO observatory_sql.runs (name) VALUES ('x')",
        "CREATE TABLE observatory_sql.x (a int)",
        "CREATE TABLE public.x (a int)",
        "SET ROLE observatory",
        "SET SESSION AUTHORIZATION observatory",
        "SELECT pg_read_file('/etc/passwd')",
        "COPY observatory_sql.runs TO PROGRAM 'true'",
        "DROP VIEW observatory_sql.spans",
        "CREATE OR REPLACE VIEW observatory_sql.spans AS SELECT 1",
    ],
)
def test_a_role_reads_nothing_else_and_changes_nothing(statement: str, access: Access) -> None:
    with sign_in(access) as reader:
        reader.execute("SET default_transaction_read_only = off")
        with pytest.raises(psycopg.Error):
            reader.execute(statement)  # type: ignore[call-overload]


def test_a_function_of_somebody_sees_no_row_of_another_project(
    cluster: Cluster, connection: psycopg.Connection, world: World, access: Access
) -> None:
    """A condition that tells what it is given is asked after the view's own."""
    write_everything(world.elsewhere.pk)
    told: list[str] = []
    with sign_in(access) as reader:
        reader.execute("SET default_transaction_read_only = off")
        reader.execute("SET client_min_messages = notice")
        reader.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
        reader.execute(
            """CREATE FUNCTION pg_temp.tells(text) RETURNS bool COST 0.0000001 LANGUAGE plpgsql AS
               $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"""
        )
        reader.execute("SELECT * FROM observatory_sql.clusters WHERE pg_temp.tells(cluster)")
    assert cluster.scheduler_id in told
    assert world.elsewhere.scheduler_id not in told


def test_a_new_password_and_the_end_of_an_access_take_effect(
    connection: psycopg.Connection, world: World, access: Access
) -> None:
    again = make_role(connection, world.alpha.pk)
    assert again.role == access.role
    assert again.password != access.password
    reader = sign_in(again)
    assert remove_role(connection, world.alpha.pk)
    with pytest.raises(psycopg.OperationalError):
        reader.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        sign_in(again)
    assert not remove_role(connection, world.alpha.pk)


def test_views_that_are_current_stay_and_others_are_made_again_with_their_rights(
    cluster: Cluster, connection: psycopg.Connection, world: World, access: Access
) -> None:
    oid = "SELECT 'observatory_sql.spans'::regclass::oid"
    before = connection.execute(oid).fetchone()
    call_command("migrate", verbosity=0)
    assert connection.execute(oid).fetchone() == before
    connection.execute("COMMENT ON SCHEMA observatory_sql IS 'of an earlier version'")
    call_command("migrate", verbosity=0)
    assert connection.execute(oid).fetchone() != before
    assert views.are_current(connections["default"].connection)
    with sign_in(access) as reader:
        assert rows(reader, "spans")


def test_projects_that_are_made_later_have_roles_as_well(
    connection: psycopg.Connection, world: World, access: Access
) -> None:
    project = Project.objects.create(name="Later", slug="later")
    with sign_in(make_role(connection, project.pk)) as reader:
        assert rows(reader, "clusters") == []
    remove_role(connection, project.pk)


def test_the_example_of_the_page_works_for_a_role(
    cluster: Cluster, connection: psycopg.Connection, access: Access
) -> None:
    [example] = re.findall(r"```sql\n-- PostgreSQL\n(.*?)```", PAGE.read_text(), re.DOTALL)
    query = example.replace("now() - interval '1 day'", f"to_timestamp({START - 60})")
    with sign_in(access) as reader:
        found = reader.execute(query.encode()).fetchall()
    assert {"sum", "over-the-edge"} <= {row[1] for row in found}


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("sql_access", *arguments, stdout=out)
    return out.getvalue().strip()


def test_the_command_makes_lists_and_removes_a_role(
    cluster: Cluster, connection: psycopg.Connection, world: World
) -> None:
    address = command("alpha")
    with psycopg.connect(address) as reader:
        assert {row[0] for row in rows(reader, "clusters")} == {"alpha"}
    assert command() == f"{roles(connection)[0]}: alpha"
    assert command("alpha", "--remove") == "The role of alpha is removed."
    assert command() == ""
    for arguments, said in ((["none"], "no project 'none'"), (["alpha", "--remove"], "has no role")):
        with pytest.raises(CommandError, match=said):
            command(*arguments)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("/run/a b", "postgresql://r:p@/db?host=%2Frun%2Fa%20b&port=5433"),
        ("db.example.org", "postgresql://r:p@db.example.org:5433/db"),
    ],
)
def test_the_address_of_a_role_is_that_of_the_database(
    host: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"host": host, "port": 5433, "dbname": "db"}
    monkeypatch.setattr(sql_access, "session_parameters", lambda: found)
    assert sql_access.address_of(Access("r", "p")) == address
