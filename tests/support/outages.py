"""A database that stores nothing, or not everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from observatory.store.connection import parameters
from observatory.store.outages import free_space


@pytest.fixture
def fresh_storage_faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What stores nothing is found out anew each time; nothing that a test found is left to others."""
    monkeypatch.setattr(free_space, "LIFETIME", 0.0)
    yield
    free_space.storage_faults()


@contextmanager
def _administrator() -> Iterator[psycopg.Connection]:
    """A session of which a test needs no permission."""
    with psycopg.connect(**{**parameters(), "application_name": "administrator"}, autocommit=True) as session:
        session.execute("SET default_transaction_read_only = off")
        yield session


@contextmanager
def read_only_database() -> Iterator[None]:
    """The test's database accepts no writes. Needs the fixture `new_connections`.

    The store's sessions end at the beginning, as in a failover, and those that begin meanwhile stay
    read-only.
    """
    with _administrator() as session:
        name = session.info.dbname
        session.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        try:
            session.execute(
                """SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = 'observatory'"""
            )
            yield
        finally:
            session.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')


@contextmanager
def failing(cluster: int, condition: str, state: str, table: str = "span") -> Iterator[None]:
    """Rows of the cluster for which the condition holds fail with a SQLSTATE."""
    with _administrator() as session:
        session.execute(
            f"""CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.cluster_id = {cluster} AND ({condition}) THEN
                    RAISE EXCEPTION 'made to fail' USING ERRCODE = '{state}';
                END IF; RETURN NEW; END $$"""
        )
        session.execute(f"CREATE TRIGGER fail BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION fail()")
        try:
            yield
        finally:
            session.execute("DROP FUNCTION fail CASCADE")
