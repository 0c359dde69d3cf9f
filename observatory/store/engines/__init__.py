"""Engines of the time-series tables: TimescaleDB if the database has it, otherwise plain PostgreSQL."""

from __future__ import annotations

import psycopg

from observatory.store.engines.base import Engine
from observatory.store.engines.plain import Plain
from observatory.store.engines.timescale import Timescale

__all__ = ["Engine", "choose"]


def choose(connection: psycopg.Connection) -> Engine:
    """The engine of the database that `connection` is to."""
    installed = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'timescaledb'").fetchone()
    return Timescale() if installed else Plain()
