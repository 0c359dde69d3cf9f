"""Bundles for tests, and what the store has of any cluster, to see that nothing was left behind."""

from __future__ import annotations

import io
from pathlib import Path

import psycopg

from observatory.exchange.formats import FORMATS
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.store.schema.dimensions import DIMENSIONS
from observatory.store.schema.time_series import time_series

KEY = "replace(key_rest, U&'\\0001', task_group.name)"
"""a row's key as text, in a query that joins task_group"""
TABLES = [*DIMENSIONS, *(table.name for table in time_series())]


def export(run: Run, path: Path) -> Path:
    assert run.stop is not None
    scope = Scope(run.cluster, round(run.start.timestamp() * 1e6), round(run.stop.timestamp() * 1e6))
    file = io.BytesIO()
    FORMATS["bundle"].write(scope, run.name, file, lambda done: None)
    path.write_bytes(file.getvalue())
    return path


class Store:
    """What is in the store and in Django's tables of clusters."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection

    def counts(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for table in (*TABLES, "clusters_cluster", "runs_run", "runs_note"):
            row = self.connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
            found[table] = row[0] if row else 0
        return found
