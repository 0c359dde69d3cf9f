"""What a format of files is: formats/ has one module for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Protocol

from observatory.replay.scope import Scope

Progress = Callable[[float], None]
"""takes what is done, from 0 to 1; raises Cancelled when somebody doesn't want it any more"""


class Cancelled(Exception):
    """The export isn't wanted any more: what was written is thrown away."""


class Format(Protocol):
    """One format. `write` writes the records of a scope; it may take minutes and tells its progress."""

    name: str
    """in URLs: parquet"""
    label: str
    """for people: “Parquet, a file a kind of record (zip)”"""
    suffix: str
    """of the file: .zip"""
    content_type: str

    def write(self, scope: Scope, title: str, file: IO[bytes], progress: Progress) -> None:
        """Raises Cancelled, and psycopg.Error without a database."""
