"""Finds out whether the database and Redis can store anything: not with a full disk, nor read-only."""

from __future__ import annotations

import shutil
import threading
import time
from dataclasses import dataclass

import psycopg
import redis
from django.conf import settings

from observatory.base import redis_server
from observatory.store.connection import connect
from observatory.store.outages.write_probe import write_fault

RESERVE = 256 << 20
"""bytes that recording leaves free on the embedded database's disk: without any, PostgreSQL stops"""
LIFETIME = 5.0
"""seconds for which a result is used again"""
DISK_FULL = "its disk is full"
WRITES_TEMPORARY_FILE = """
    SELECT sum(length(filler)) FROM (
        SELECT repeat(md5(number::text), 32) AS filler FROM generate_series(1, 1000) AS number
        ORDER BY filler OFFSET 0
    ) AS sorted"""
"""sorts 1 MB on disk with little `work_mem`; changes no table and writes no WAL"""
PROBE_KEY = "observatory:write-probe"


@dataclass(frozen=True, slots=True)
class StorageFaults:
    """Why the database and Redis store nothing; "" where they do, and where they do not answer."""

    database: str = ""
    redis: str = ""

    @property
    def sentence(self) -> str:
        """One sentence for people; "" without a fault."""
        if self.database:
            return f"Nothing is recorded. The database accepts no data: {self.database}."
        if self.redis:
            return f"Alerts, runs and tiles wait. Redis accepts no data: {self.redis}."
        return ""


_lock = threading.Lock()
_checked_at = -LIFETIME
_faults = StorageFaults()


def storage_faults() -> StorageFaults:
    """The faults, at most LIFETIME seconds old. While another thread checks, its last result."""
    global _checked_at, _faults
    if time.monotonic() - _checked_at >= LIFETIME and _lock.acquire(blocking=False):
        try:
            _faults = StorageFaults(database_fault(), redis_fault())
            _checked_at = time.monotonic()
        finally:
            _lock.release()
    return _faults


def require_free_space() -> None:
    """Raises psycopg.errors.DiskFull when records would use the reserve of the embedded database's disk."""
    if is_reserve_used():
        raise psycopg.errors.DiskFull(f"less than {RESERVE >> 20} MiB are free in {settings.DATABASE_DISK}")


def is_reserve_used() -> bool:
    """False for a database with a disk that this process does not know."""
    try:
        return settings.DATABASE_DISK is not None and shutil.disk_usage(settings.DATABASE_DISK).free < RESERVE
    except OSError:
        return False


def database_fault() -> str:
    if is_reserve_used():
        return DISK_FULL
    try:
        if settings.DATABASE_DISK is None:
            with connect() as connection, connection.transaction():
                connection.execute("SET LOCAL work_mem = '64kB'")
                connection.execute(WRITES_TEMPORARY_FILE)
        return write_fault()
    except psycopg.errors.DiskFull:
        return DISK_FULL
    except psycopg.Error:
        return ""


def redis_fault() -> str:
    try:
        with redis_server.connect() as client:
            client.set(PROBE_KEY, "1", ex=60)
    except redis.ResponseError as error:
        reason = " ".join(str(error).split())
        return DISK_FULL if "no space left" in reason.lower() else reason[:200]
    except (redis.RedisError, ValueError):
        return ""
    return ""
