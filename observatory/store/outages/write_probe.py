"""Finds out whether the database stores anything, by writing something small and rolling it back."""

from __future__ import annotations

import psycopg
from psycopg import sql

from observatory.store.connection import connect, is_unavailable
from observatory.store.schema.time_series import time_series

READ_ONLY = "it is read-only"
TIMEOUT = "5s"
"""for which the probe waits for a lock"""
NO_CLUSTER = 0
ONE_ROW = "INSERT INTO late (cluster_id, since) VALUES (%s, now())"
NO_ROW = "INSERT INTO {} (cluster_id) SELECT 0 WHERE false"
"""needs the table, the right to write to it, and a database that is not read-only; writes nothing"""


def write_fault() -> str:
    """Why the database stores nothing; "" if it stores, or if there is no connection. Raises DiskFull."""
    try:
        with connect() as connection, connection.transaction(force_rollback=True):
            connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(TIMEOUT))
            connection.execute(ONE_ROW, [NO_CLUSTER])
            names = ["extent", *(table.name for table in time_series())]
            inserts = [sql.SQL(NO_ROW).format(sql.Identifier(name)) for name in names]
            connection.execute(sql.SQL("; ").join(inserts))
    except psycopg.errors.DiskFull:
        raise
    except psycopg.errors.ReadOnlySqlTransaction:
        return READ_ONLY
    except psycopg.Error as error:
        return "" if is_unavailable(error) else (error.diag.message_primary or str(error))[:200]
    return ""
