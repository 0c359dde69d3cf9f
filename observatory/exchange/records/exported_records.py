"""The records that a scope shows, and reading them for an export: all kinds in one snapshot."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import psycopg

from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.queries import timeline
from observatory.store.queries.extents import read_extent
from observatory.store.queries.named_records import RecordKind, Row, Wanted, read, record_kinds
from observatory.store.times import to_microseconds
from observatory.wire.columns import ValueType

if TYPE_CHECKING:  # the formats import this module
    from observatory.exchange.formats.base import Progress


@dataclass(frozen=True, slots=True)
class Shown:
    """A kind of records and those of its columns that a scope shows."""

    kind: RecordKind
    columns: list[str]

    @property
    def types(self) -> dict[str, ValueType]:
        return self.kind.types(self.columns)


def shown(scope: Scope) -> list[Shown]:
    """The kinds of records that the scope shows, with the columns that it shows of each."""
    return [
        Shown(kind, [name for name, column in kind.columns.items() if _shows(scope, column.part)])
        for kind in record_kinds().values()
        if _shows(scope, kind.part)
    ]


def shown_kind(scope: Scope, name: str) -> Shown | None:
    """None for an unknown kind, and for one that the scope doesn't show."""
    return next((found for found in shown(scope) if found.kind.name == name), None)


def _shows(scope: Scope, part: str) -> bool:
    return not part or part in scope.sections


class Reader:
    """Reads the records of a scope within one snapshot."""

    def __init__(self, connection: psycopg.Connection, scope: Scope) -> None:
        self.connection = connection
        self.scope = scope
        extent = read_extent(connection, scope.cluster.pk)
        first, last = (round(extent.first * 1e6), round(extent.last * 1e6)) if extent else (0, 0)
        self.start, self.stop = max(scope.start, first), min(scope.stop, last + 1)
        """the part of the window with records, in microseconds"""

    def rows(self, found: Shown, progress: Progress, wanted: Wanted | None = None) -> Iterator[list[Row]]:
        """The rows of one kind, some thousands at once, each with its time before its columns."""
        scope = self.scope
        length = max(1, self.stop - self.start)
        for rows in read(
            self.connection, found.kind, scope.cluster.pk, scope.start, scope.stop, found.columns, wanted
        ):
            yield rows
            reached = to_microseconds(rows[-1][0]) - self.start
            progress(min(max(reached / length, 0.0), 1.0))


@contextmanager
def reader(scope: Scope) -> Iterator[Reader]:
    with read_connection() as connection, timeline.snapshot(connection):
        yield Reader(connection, scope)


def write_zip(
    file: IO[bytes],
    compression: int,
    suffix: str,
    scope: Scope,
    progress: Progress,
    write: Callable[[Reader, Shown, IO[bytes], Progress], None],
) -> None:
    """A zip with a file for each kind of records that the scope shows, each written by `write`."""
    kinds = shown(scope)
    with zipfile.ZipFile(file, "w", compression) as archive, reader(scope) as source:
        for index, kind in enumerate(kinds):
            with archive.open(f"{kind.kind.name}{suffix}", "w", force_zip64=True) as entry:
                write(source, kind, entry, part_of(progress, index, len(kinds)))
            progress((index + 1) / len(kinds))


def part_of(progress: Progress, index: int, count: int) -> Progress:
    """The progress of one of `count` steps, as the progress of all."""
    return lambda done: progress((index + done) / count)
