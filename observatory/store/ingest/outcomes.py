"""What became of a transaction whose connection broke before its commit was answered."""

from __future__ import annotations

import time

import psycopg

OUTCOME_TIMEOUT = 5.0
"""seconds to wait for the end of a transaction whose connection broke"""


def transaction_id(connection: psycopg.Connection) -> str:
    """The id of the current transaction for pg_xact_status."""
    row = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
    return str(row[0]) if row else ""


def outcome_of(connection: psycopg.Connection, transaction: str) -> str | None:
    """The outcome of a transaction whose connection broke; None if it is no longer known."""
    deadline = time.monotonic() + OUTCOME_TIMEOUT
    while True:
        row = connection.execute("SELECT pg_xact_status(%s::xid8)", [transaction]).fetchone()
        status = None if row is None else row[0]
        if status != "in progress" or time.monotonic() > deadline:
            return status
        time.sleep(0.05)
