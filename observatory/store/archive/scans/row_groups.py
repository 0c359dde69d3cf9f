"""The row groups of a cluster's files of one kind that can have wanted rows, as catalogue and files say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.errors import DamagedFile, LacksColumns
from observatory.store.archive.place import Place
from observatory.store.archive.restoring.ids import missing_columns
from observatory.store.archive.scans.bloom_filters import may_have_any
from observatory.store.archive.scans.conditions import AtLeast, Condition, OneOf
from observatory.wire.kind import Kind
from observatory.wire.kinds import KINDS

MOST_LOOKED_UP = 200
"""values that a filter is asked for"""
REMEMBERED_FILES = 128
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class _Footer:
    metadata: pq.FileMetaData
    places: Mapping[str, int]
    """positions of columns by name"""


_footers: dict[tuple[str, str, str], _Footer] = {}
"""of the files that were scanned last: by place, path and checksum"""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Methods raise ArchiveError."""

    place: Place
    piece: Piece
    stream: pa.NativeFile
    footer: _Footer
    number: int
    kind: Kind
    first: datetime
    last: datetime
    """least and greatest time"""

    @property
    def where(self) -> str:
        return f"{self.place.name}/{self.piece.path}"

    @property
    def rows(self) -> int:
        return int(self.footer.metadata.row_group(self.number).num_rows)

    def is_within(self, condition: Condition) -> bool:
        """Whether all rows are of the condition's time."""
        start, stop = condition.start, condition.stop
        return (start is None or self.first >= start) and (stop is None or self.last < stop)

    def read(self, columns: Collection[str], coded: Collection[str] = ()) -> pa.Table:
        """Columns; those of `coded` as numbers of their texts, which takes less memory."""
        try:
            # another one each time: it is not to be used by two threads
            file = pq.ParquetFile(
                self.stream,
                metadata=self.footer.metadata,
                read_dictionary=list(coded),
                pre_buffer=True,
                page_checksum_verification=True,
            )
            return file.read_row_group(self.number, list(columns), use_threads=False)
        except (OSError, pa.ArrowException) as error:
            raise DamagedFile(f"{self.where} can't be read: {error}.") from error

    def may_meet(self, condition: Condition) -> bool:
        """Whether statistics and filters allow rows that meet a condition."""
        for test in condition.tests:
            if isinstance(test, OneOf) and not any(
                self._may_have(name, test.values) for name in test.columns
            ):
                return False
            if isinstance(test, AtLeast) and self._limits(test.column)[1] < test.value:
                return False
        return True

    def _may_have(self, name: str, values: Collection[Any]) -> bool:
        least, greatest = self._limits(name)
        within = [value for value in values if least is None or least <= value <= greatest]
        if not within or len(within) > MOST_LOOKED_UP or not isinstance(within[0], str):
            return bool(within)
        try:
            return may_have_any(self.stream, self._column(name), within)
        except OSError as error:
            raise DamagedFile(f"{self.where} can't be read: {error}.") from error

    def _limits(self, name: str) -> tuple[Any, Any]:
        statistics = self._column(name).statistics
        known = statistics is not None and statistics.has_min_max
        return (statistics.min, statistics.max) if known else (None, float("inf"))

    def _column(self, name: str) -> pq.ColumnChunkMetaData:
        return self.footer.metadata.row_group(self.number).column(self.footer.places[name])


Read = Callable[[RowGroup, Condition], Found]


def row_groups(place: Place, pieces: Sequence[Piece], condition: Condition) -> Iterator[RowGroup]:
    """The row groups that can have rows of the condition's time. Raises ArchiveError."""
    for piece in pieces:
        if may_have_rows(piece, condition):
            stream = place.open(piece.path)
            footer = _footer(stream, place, piece)
            for number in range(footer.metadata.num_row_groups):
                group = _row_group(place, piece, stream, footer, number)
                if _overlaps(condition, group.first, group.last):
                    yield group


def read_row_group(read: Read[Found], place: Place, piece: Piece, number: int, condition: Condition) -> Found:
    """What `read` finds in a row group of a file, by its number. Raises ArchiveError."""
    stream = place.open(piece.path)
    return read(_row_group(place, piece, stream, _footer(stream, place, piece), number), condition)


def may_have_rows(piece: Piece, condition: Condition) -> bool:
    """Whether the catalogue allows that a file has rows that meet a condition."""
    return _overlaps(condition, piece.first, piece.last) and not _is_ruled_out(piece, condition)


def _row_group(place: Place, piece: Piece, stream: pa.NativeFile, footer: _Footer, number: int) -> RowGroup:
    kind = KINDS[piece.kind]
    if missing := missing_columns(kind, footer.places):
        raise LacksColumns(f"{place.name}/{piece.path} lacks the columns {', '.join(missing)}.")
    times = footer.metadata.row_group(number).column(footer.places[kind.time]).statistics
    return RowGroup(place, piece, stream, footer, number, kind, times.min, times.max)


def _footer(stream: pa.NativeFile, place: Place, piece: Piece) -> _Footer:
    """What the end of a file says of it, which never changes."""
    known = place.name, piece.path, piece.checksum
    # other threads forget them
    footer = _footers.get(known)
    if footer is None:
        try:
            metadata = pq.read_metadata(stream)
        except (OSError, pa.ArrowException) as error:
            raise DamagedFile(f"{place.name}/{piece.path} can't be read: {error}.") from error
        columns = range(metadata.num_columns)
        footer = _Footer(metadata, {metadata.schema.column(position).path: position for position in columns})
        if len(_footers) >= REMEMBERED_FILES:
            _footers.clear()
        _footers[known] = footer
    return footer


def _overlaps(condition: Condition, first: datetime | None, last: datetime | None) -> bool:
    if first is None or last is None:
        return True
    return not (
        (condition.start is not None and last < condition.start)
        or (condition.stop is not None and first >= condition.stop)
    )


def _is_ruled_out(piece: Piece, condition: Condition) -> bool:
    """Whether the catalogue's statistics say that no row of a file meets the condition."""
    for test in condition.tests:
        if isinstance(test, OneOf) and all(name in piece.statistics for name in test.columns):
            limits = [piece.statistics[name] for name in test.columns]
            if not any(least <= value <= greatest for least, greatest in limits for value in test.values):
                return True
    return False
