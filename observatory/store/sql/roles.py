"""Roles of PostgreSQL that read the views of one project, for Grafana and other programs that speak SQL."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import psycopg
from psycopg.sql import SQL, Identifier, Literal

SCHEMA = "observatory_sql"
MOST_CONNECTIONS = 10
DEFAULTS = {
    "default_transaction_read_only": "on",
    "statement_timeout": "60s",
    "search_path": SCHEMA,
    "timezone": "UTC",
}
"""of a role's sessions"""


@dataclass(frozen=True, slots=True)
class Access:
    role: str
    password: str


def role_prefix(connection: psycopg.Connection) -> str:
    """The beginning of the names of the roles of this database: roles are those of the whole server."""
    row = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
    assert row is not None
    return f"{SCHEMA}_{row[0]}_"


def make_role(connection: psycopg.Connection, project: int) -> Access:
    """A role for a project with a new password; the one that is there gets it. Raises psycopg.Error."""
    role = f"{role_prefix(connection)}{project}"
    password = secrets.token_urlsafe(24)
    verb = "ALTER" if role in roles(connection) else "CREATE"
    with connection.transaction():
        connection.execute(
            SQL("{} ROLE {} LOGIN PASSWORD {} CONNECTION LIMIT {}").format(
                SQL(verb), Identifier(role), Literal(password), Literal(MOST_CONNECTIONS)
            )
        )
        for name, value in DEFAULTS.items():
            connection.execute(
                SQL("ALTER ROLE {} SET {} = {}").format(Identifier(role), Identifier(name), Literal(value))
            )
        _grant(connection, role)
    return Access(role, password)


def remove_role(connection: psycopg.Connection, project: int) -> bool:
    """Remove the role of a project and end its sessions; False if there is none. Raises psycopg.Error."""
    role = f"{role_prefix(connection)}{project}"
    if role not in roles(connection):
        return False
    connection.execute(SQL("ALTER ROLE {} NOLOGIN").format(Identifier(role)))
    connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [role])
    names = {"role": Identifier(role), "schema": Identifier(SCHEMA)}
    with connection.transaction():
        connection.execute(SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}").format(**names))
        connection.execute(SQL("REVOKE ALL ON SCHEMA {schema} FROM {role}").format(**names))
        connection.execute(SQL("DROP ROLE {role}").format(**names))
    return True


def roles(connection: psycopg.Connection) -> list[str]:
    """The names of the roles of this database."""
    rows = connection.execute(
        "SELECT rolname FROM pg_roles WHERE starts_with(rolname, %s) ORDER BY rolname",
        [role_prefix(connection)],
    )
    return [name for (name,) in rows]


def grant_all(connection: psycopg.Connection) -> None:
    """After the views were made anew."""
    for role in roles(connection):
        _grant(connection, role)


def _grant(connection: psycopg.Connection, role: str) -> None:
    names = {"role": Identifier(role), "schema": Identifier(SCHEMA)}
    connection.execute(SQL("GRANT USAGE ON SCHEMA {schema} TO {role}").format(**names))
    connection.execute(SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}").format(**names))
