"""The tables that migration 0003 makes. This is history: it never changes."""

from __future__ import annotations

from typing import LiteralString

ARCHIVED_ROWS: dict[LiteralString, tuple[LiteralString, ...]] = {
    "archived_rows": (
        """CREATE TABLE archived_rows (
            cluster_id integer NOT NULL,
            kind text NOT NULL,
            is_removed boolean NOT NULL,
            used timestamptz NOT NULL DEFAULT now(),
            filtered text NOT NULL DEFAULT '',
            PRIMARY KEY (cluster_id, kind)
        )""",
    ),
}
