"""What is wrong with the archive, or not there yet."""

from __future__ import annotations


class ArchiveError(Exception):
    """The archive can't be used now. The message says why, and what to do."""


class DamagedFile(ArchiveError):
    """The archive is there, but a file that the catalogue lists is missing or can't be read."""


class LacksColumns(ArchiveError):
    """An earlier version wrote the file: its rows can't be brought back from it."""


class BeingFetched(Exception):
    """Archived rows that a request needs are on their way: `done` of `rows`, 0 while that isn't known."""

    def __init__(self, done: int = 0, rows: int = 0) -> None:
        super().__init__(f"{done:,} of {rows:,} archived rows are in their tables")
        self.done, self.rows = done, rows
