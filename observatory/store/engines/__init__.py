"""How time-series tables are kept: by TimescaleDB where the database has it, else by PostgreSQL alone."""

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
