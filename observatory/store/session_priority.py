"""Sessions of background work have its lower priority, where PostgreSQL runs beside it as the same user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from django.db.backends.postgresql.base import DatabaseWrapper

from observatory.base import priority


def watch(connection: DatabaseWrapper, **_: Any) -> None:
    """Receives Django's signal connection_created."""
    adopt_priority(connection.connection)


def adopt_priority(connection: psycopg.Connection) -> None:
    """Lowers the priority of the session's process if that of this process is lower."""
    process = connection.info.backend_pid
    if priority.is_lower() and _is_postgres(process):
        priority.lower(process)


def _is_postgres(process: int) -> bool:
    """The id may be that of a process of another machine."""
    try:
        return Path(f"/proc/{process}/comm").read_text() == "postgres\n"
    except OSError:
        return False
