"""PostgreSQL and Redis: embedded, as supervised programs, or external, checked before the start."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import psycopg
import redis

from observatory.base import redis_server
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.embedded.postgres import Postgres
from observatory.runtime.embedded.valkey import Valkey
from observatory.runtime.errors import StartupError
from observatory.runtime.supervision.program import Program, Stage
from observatory.store.connection import connect


def check_external() -> None:
    """Check the services that the environment names. Raises StartupError."""
    if os.environ.get("DATABASE_URL"):
        check_database()
    if os.environ.get("REDIS_URL"):
        check_redis()


def embedded_services(folder: DataFolder) -> Iterator[Program]:
    """The embedded services that no external one replaces. Raises StartupError."""
    if not os.environ.get("DATABASE_URL"):
        yield embedded_postgres(folder)
    if not os.environ.get("REDIS_URL"):
        yield _program("valkey", Valkey(folder), signal.SIGTERM)


def embedded_postgres(folder: DataFolder) -> Program:
    """Raises StartupError."""
    return _program("postgres", Postgres(folder), signal.SIGINT)


def check_database() -> None:
    """Connect to DATABASE_URL. Raises StartupError."""
    try:
        connect().close()
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        raise StartupError(f"DATABASE_URL: no connection to the database: {reason}") from None


def check_redis() -> None:
    """Connect to REDIS_URL. Raises StartupError."""
    try:
        redis_server.connect().ping()
    except (redis.RedisError, ValueError) as error:
        raise StartupError(f"REDIS_URL: no connection to Redis: {error}") from None


def _program(name: str, service: Postgres | Valkey, stop_signal: signal.Signals) -> Program:
    service.prepare()
    return Program(
        name,
        service.command(),
        service.is_ready,
        stop_signal=stop_signal,
        stop_timeout=60.0,
        options=service.options(),
        is_python=False,
        stage=Stage.SERVICE,
    )
