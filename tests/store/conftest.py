"""Real PostgreSQL (with or without TimescaleDB: whatever DATABASE_URL names) and real Valkey."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from observatory.store.connection import connect
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import Action, Sample, Series, Span, WorkerSeen

ADDRESS = "tcp://10.0.0.1:4000"
numbers = itertools.count(1_000_000_000)
"""beyond the ids of Django's clusters: what a module left of one must not be another cluster's"""


@pytest.fixture
def cluster(transactional_db: None) -> Iterator[int]:
    """The id of a cluster of which nothing is stored yet."""
    number = next(numbers)
    yield number
    delete_cluster(number)


@pytest.fixture
def connection(transactional_db: None) -> Iterator[psycopg.Connection]:
    with connect() as connection:
        yield connection


@pytest.fixture
def rows(connection: psycopg.Connection) -> Callable[..., list[tuple[Any, ...]]]:
    """Asks the database."""

    def ask(query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return connection.execute(query, parameters).fetchall()

    return ask


@pytest.fixture
def writer(transactional_db: None) -> Iterator[Writer]:
    with Writer() as writer:
        yield writer


@pytest.fixture
def now() -> float:
    """Seconds, with microseconds that a float holds exactly enough."""
    return float(int(time.time()))


class Make:
    """Makes records that differ from a usual one by what is given."""

    address = ADDRESS

    @staticmethod
    def span(start: float, key: str = "('inc-0a1b', 0)", **changes: Any) -> Span:
        usual: dict[str, Any] = {
            "worker": ADDRESS,
            "thread": 140_001,
            "key": key,
            "prefix": "inc",
            "group": "inc-0a1b",
            "action": Action.COMPUTE,
            "start": start,
            "stop": start + 0.5,
            "nbytes": 28,
            "typename": "int",
        }
        return Span(**{**usual, **changes})

    @staticmethod
    def sample(time: float, value: float = 1.0, metric: str = "m", **changes: Any) -> Sample:
        return Sample(Series(metric, **changes), time, value)

    @staticmethod
    def worker(time: float, address: str = ADDRESS, **changes: Any) -> WorkerSeen:
        usual: dict[str, Any] = {
            "address": address,
            "name": "w0",
            "host": "10.0.0.1",
            "nthreads": 2,
            "memory_limit": 4_000_000_000,
            "time": time,
        }
        return WorkerSeen(**{**usual, **changes})


@pytest.fixture
def make() -> type[Make]:
    return Make


@pytest.fixture
def slow_commits(connection: psycopg.Connection) -> Iterator[None]:
    """Each transaction that changes an extent takes a second to commit."""
    connection.execute(
        """CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
           AS $$ BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$"""
    )
    connection.execute(
        """CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON extent DEFERRABLE INITIALLY DEFERRED
           FOR EACH ROW EXECUTE FUNCTION wait()"""
    )
    yield
    connection.execute("DROP FUNCTION wait CASCADE")
