"""Protocol of export formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Protocol

from observatory.replay.scope import Scope

Progress = Callable[[float], None]
"""takes the progress from 0 to 1; raises Cancelled if the export was cancelled"""


class Cancelled(Exception):
    """The export was cancelled; the written file is discarded."""


class Format(Protocol):
    """An export format. `write` can take minutes and reports its progress."""

    name: str
    """in URLs: parquet"""
    label: str
    """shown to users: “Parquet, a file for each kind of records (zip)”"""
    suffix: str
    """of the file: .zip"""
    content_type: str

    def write(self, scope: Scope, title: str, file: IO[bytes], progress: Progress) -> None:
        """Raises Cancelled, and psycopg.Error without a database."""
