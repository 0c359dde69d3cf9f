"""What is wrong with the archive."""

from __future__ import annotations


class ArchiveError(Exception):
    """The archive can't be used now. The message says why, and what to do."""


class LacksColumns(ArchiveError):
    """An earlier version wrote the file: its rows can't be brought back from it."""
