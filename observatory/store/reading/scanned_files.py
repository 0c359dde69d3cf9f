"""How many files of the archive a request's searches have read, and of how many."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class ScannedFiles:
    read: int = 0
    of: int = 0


SCANNED_FILES: ContextVar[ScannedFiles | None] = ContextVar("scanned files", default=None)
"""of the current request; None: none is being answered"""
