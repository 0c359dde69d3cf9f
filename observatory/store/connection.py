"""psycopg connections of the store, separate from Django's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import chain
from typing import Any, LiteralString

import psycopg
from django.conf import settings
from psycopg import sql
from psycopg_pool import ConnectionPool, PoolTimeout

from observatory.base.environment import CONNECTION_IDLE, CONNECTION_LIFETIME
from observatory.store.archive.errors import ArchiveError
from observatory.store.places.askers import ASKER
from observatory.store.places.shares import Busy, Shares
from observatory.store.reading.connections import ReadingConnection
from observatory.store.session_priority import adopt_priority

CONNECT_TIMEOUT = 10
UNAVAILABLE_STATES = ("08", "25006", "53", "57P")
"""beginnings of PostgreSQL's codes of lost and refused connections, of read-only and of full databases"""
MAXIMUM_READERS = 8
LONGEST_READ, LONGEST_BUILD = 30, 60
"""seconds of a statement of a page, and of one that builds tiles"""
MAXIMUM_BUILDERS = 3
"""connections of a process that build tiles; further builds wait for one"""
BUILD_TIMEOUT = 60
"""seconds that a build waits for a connection"""
SESSION = {"timezone": "UTC", "plan_cache_mode": "force_custom_plan"}
"""settings of each session. A generic plan, which PostgreSQL takes after five executions, does not know how
short a window of time is, and reads all spans of a day for one of seconds"""
SAVEPOINT: LiteralString = "queries"
MAXIMUM_SESSIONS = 8
"""connections past a pooler; further locks wait for one"""
builds = Shares(MAXIMUM_BUILDERS, waiting=100, timeout=BUILD_TIMEOUT)
_limits_statements = False


def parameters() -> dict[str, Any]:
    """Return psycopg's parameters for the database of settings.DATABASES."""
    # a pooler in transaction mode has no session that would know a prepared statement
    pooled = {"prepare_threshold": None} if settings.DATABASE_SESSION else {}
    return _parameters(settings.DATABASES["default"]) | pooled


def session_parameters() -> dict[str, Any]:
    """Return libpq's parameters for connections that keep one session: no pooler in transaction mode."""
    return _parameters(settings.DATABASE_SESSION or settings.DATABASES["default"])


def _parameters(database: dict[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in database.get("OPTIONS", {}).items() if name != "pool"}
    named = {
        "host": database.get("HOST"),
        "port": database.get("PORT"),
        "dbname": database.get("NAME"),
        "user": database.get("USER"),
        "password": database.get("PASSWORD"),
    }
    return {
        "connect_timeout": CONNECT_TIMEOUT,
        "application_name": "observatory",
        **{name: value for name, value in named.items() if value},
        **options,
    }


def connect() -> psycopg.Connection:
    """Open a connection in autocommit mode and UTC. Raises psycopg.OperationalError without a database."""
    return _connect(parameters())


def connect_session() -> psycopg.Connection:
    """As `connect`, with a session that lasts as long as the connection. Raises psycopg.OperationalError."""
    return _connect(session_parameters())


def connect_reader() -> psycopg.Connection:
    """As `connect`, for reading records: archived ones come back first. Raises psycopg.OperationalError."""
    connection = ReadingConnection.connect(**parameters(), autocommit=True)
    _configure(connection, SESSION)
    return connection


def _connect(parameters: dict[str, Any]) -> psycopg.Connection:
    connection = psycopg.connect(**parameters, autocommit=True)
    _configure(connection, SESSION)
    return connection


def _configure(connection: psycopg.Connection, session: dict[str, str]) -> None:
    calls = sql.SQL(", ").join([sql.SQL("set_config(%s, %s, false)")] * len(session))
    connection.execute(sql.SQL("SELECT {}").format(calls), list(chain(*session.items())))
    adopt_priority(connection)


def database_error(error: BaseException | None) -> psycopg.Error | None:
    """psycopg's error: this one, or the one that caused it, such as one of Django."""
    while error is not None and not isinstance(error, psycopg.Error):
        error = error.__cause__
    return error


def is_unavailable(error: BaseException | None) -> bool:
    """Whether an error of psycopg, or of Django caused by one, means that the database serves nobody now.

    It is away, restarting, read-only or out of space, or all connections are busy: a later attempt can
    succeed. So it is with what is archived while the archive is away.
    """
    found = database_error(error)
    if found is None:
        return isinstance(error, ArchiveError)
    if found.sqlstate is None:
        return isinstance(found, psycopg.OperationalError)
    return found.sqlstate.startswith(UNAVAILABLE_STATES)


@contextmanager
def read_connection() -> Iterator[psycopg.Connection]:
    """Take a connection from the pool of readers (autocommit, UTC). Raises psycopg_pool.PoolTimeout.

    Records that it reads are there although they are archived (store/reading/connections.py).
    """
    with _readers().connection() as connection:
        yield connection


@contextmanager
def build_connection() -> Iterator[psycopg.Connection]:
    """Take a connection for building tiles, from a small pool of its own. Raises psycopg_pool.PoolTimeout.

    Builds take long: they must not take the connections of quick readers, nor all of the database's cores.
    Requests about one project get no more than half of it.
    """
    asker = ASKER.get()
    try:
        with nullcontext() if asker is None else builds.place(asker.key), _builders().connection() as found:
            yield found
    except Busy:
        raise PoolTimeout("the project's other builds take its share") from None


@contextmanager
def session_of(connection: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A connection whose session lasts for the block: this one, or another if it leads to a pooler.

    A pooler in transaction mode serves others with the same session between two transactions.
    Raises psycopg_pool.PoolTimeout.
    """
    if not settings.DATABASE_SESSION:
        yield connection
        return
    with _sessions().connection() as session:
        yield session


@contextmanager
def statement_timeout(connection: psycopg.Connection, seconds: float) -> Iterator[None]:
    """A transaction none of whose statements takes longer. Raises psycopg.errors.QueryCanceled."""
    with connection.transaction():
        connection.execute("SELECT set_config('statement_timeout', %s, true)", [f"{round(seconds * 1e3)}ms"])
        yield


def set_savepoint(connection: psycopg.Connection) -> None:
    """Of a transaction, for all queries after it: psycopg's own blocks make and release one each."""
    connection.execute(f"SAVEPOINT {SAVEPOINT}")


def return_to_savepoint(connection: psycopg.Connection) -> None:
    """After a query that failed: the transaction goes on, and the savepoint stays."""
    connection.execute(f"ROLLBACK TO SAVEPOINT {SAVEPOINT}")


def close_pools() -> None:
    """Close the pools of this process, so that the database can be dropped."""
    for pool in (_readers, _builders, _sessions):
        if pool.cache_info().currsize:
            pool().close()
            pool.cache_clear()


def limit_statements(are_limited: bool = True) -> None:
    """Makes statements of new pools of this process end after LONGEST_READ and LONGEST_BUILD.

    For a process that answers requests; to be called before its first. Raises psycopg.errors.QueryCanceled in
    what takes longer.
    """
    global _limits_statements
    _limits_statements = are_limited


@cache
def _readers() -> ConnectionPool[psycopg.Connection]:
    return _pool(parameters(), MAXIMUM_READERS, CONNECT_TIMEOUT, lambda: _readers(), **_session(LONGEST_READ))


@cache
def _builders() -> ConnectionPool[psycopg.Connection]:
    return _pool(
        parameters(), MAXIMUM_BUILDERS, BUILD_TIMEOUT, lambda: _builders(), **_session(LONGEST_BUILD)
    )


def _session(longest: int) -> dict[str, str]:
    """Settings with the longest time of a statement (seconds), and without parallel queries.

    Starting parallel workers takes longer than most queries of a page: the planner takes the conditions on a
    span's start and stop as independent, and expects many rows.
    """
    if settings.DATABASE_SESSION:  # they would stay in a pooler's sessions for others
        return {}
    limit = {"statement_timeout": f"{longest}s"} if _limits_statements else {}
    return {"max_parallel_workers_per_gather": "0", **limit}


@cache
def _sessions() -> ConnectionPool[psycopg.Connection]:
    return _pool(session_parameters(), MAXIMUM_SESSIONS, CONNECT_TIMEOUT, lambda: _sessions())


def _pool(
    parameters: dict[str, Any],
    size: int,
    timeout: float,
    itself: Callable[[], ConnectionPool[psycopg.Connection]],
    **session: str,
) -> ConnectionPool[psycopg.Connection]:
    """A pool of up to `size` connections; `session` are further settings of the sessions."""

    def configure(connection: psycopg.Connection) -> None:
        _configure(connection, SESSION | session)

    def check(connection: psycopg.Connection) -> None:
        """Raise psycopg.OperationalError for a broken connection, and replace all idle ones of the pool.

        A database restart breaks all of them. The pool checks one at a time with growing delays, and would
        not reach a working one before its timeout.
        """
        try:
            ConnectionPool.check_connection(connection)
        except psycopg.OperationalError:
            itself().drain()
            raise

    return ConnectionPool(
        connection_class=ReadingConnection,
        kwargs={**parameters, "autocommit": True},
        configure=configure,
        check=check,
        min_size=0,
        max_size=size,
        timeout=timeout,
        max_lifetime=CONNECTION_LIFETIME,
        max_idle=CONNECTION_IDLE,
        open=True,
    )
