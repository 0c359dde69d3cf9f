"""Reads rows of records from the database as Arrow: COPY gives them with ids, which then become names."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import numpy as np
import numpy.typing as npt
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql
from pyarrow import csv

from observatory.store.archive.files.columns import TYPES, FileColumn, file_columns
from observatory.store.archive.files.names import Path, read_names
from observatory.store.keys import GROUP_PLACEHOLDER
from observatory.wire.kind import Kind

BLOCK = 8 << 20
"""bytes that are parsed at once, more than the longest row has"""
MESSAGES = 500
"""rows that are taken from the connection at once"""
UNKNOWN = "unknown"


def read_rows(
    connection: psycopg.Connection,
    kind: Kind,
    cluster: int,
    start: datetime,
    stop: datetime,
    *,
    in_order: bool = True,
) -> Generator[pa.RecordBatch]:
    """The table's rows with a time in [start, stop), with ids as the table has them.

    They are in order of time if that is wanted: sorting takes the database as long as reading.
    """
    columns = [column.name for column in kind.columns]
    query = sql.SQL(
        "COPY (SELECT {} FROM {} WHERE cluster_id = {} AND {time} >= {} AND {time} < {} {order}) "
        "TO STDOUT (FORMAT csv)"
    ).format(
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.Identifier(kind.name),
        cluster,
        start,
        stop,
        time=(time := sql.Identifier(kind.time)),
        order=sql.SQL("ORDER BY {}").format(time) if in_order else sql.SQL(""),
    )
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        reader = _Stream(iter(copy))
        if reader.is_empty():
            return
        # a text that is empty is quoted, a null is not
        yield from csv.open_csv(
            reader,
            csv.ReadOptions(use_threads=False, block_size=BLOCK, column_names=columns),
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(
                column_types={column.name: TYPES.get(column.type, pa.string()) for column in kind.columns},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


class _Stream(io.RawIOBase):
    """The data of a COPY as a file."""

    def __init__(self, messages: Iterator[bytes | bytearray | memoryview]) -> None:
        self._messages = messages
        self._waiting = b""

    def readable(self) -> bool:
        return True

    def is_empty(self) -> bool:
        self._waiting = self._waiting or b"".join(islice(self._messages, MESSAGES))
        return not self._waiting

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self.is_empty():
            return 0
        size = min(len(buffer), len(self._waiting))
        buffer[:size] = self._waiting[:size]
        self._waiting = self._waiting[size:]
        return size


@dataclass(slots=True)
class Coded:
    """A column of names: a number for each row, -1 without a name, and the names in their order."""

    codes: npt.NDArray[np.int32]
    names: pa.Array

    def array(self) -> pa.Array:
        mask = self.codes < 0
        codes = pa.array(self.codes, pa.int32(), mask=mask) if mask.any() else pa.array(self.codes)
        if pa.types.is_string(self.names.type):
            return pa.DictionaryArray.from_arrays(codes, self.names)
        return self.names.take(codes)


def with_names(connection: psycopg.Connection, kind: Kind, rows: pa.Table) -> dict[str, pa.Array | Coded]:
    """The columns of the file of these rows."""
    references = _References(connection, kind, rows)
    found: dict[str, pa.Array | Coded] = {}
    for column in file_columns(kind):
        if column.table:
            found[column.name] = references.coded(column)
        elif column.labels:
            found[column.name] = _labelled(_numbers(rows, column.source), column.labels)
        elif column.group:
            found[column.name] = keys_of(
                rows.column(column.source), references.coded_by(column.group, ("name",))
            )
        else:
            found[column.name] = rows.column(column.source).combine_chunks()
    return found


class _References:
    """The names of what some rows refer to, read once for each column of references."""

    def __init__(self, connection: psycopg.Connection, kind: Kind, rows: pa.Table) -> None:
        self._connection, self._rows = connection, rows
        self._tables = {column.name: column.refers for column in kind.columns if column.refers}
        self._read: dict[str, dict[Path, Coded]] = {}
        self._paths: dict[str, list[Path]] = {}
        for column in file_columns(kind):
            if column.table:
                self._paths.setdefault(column.source, []).append(column.path)
            if column.group:
                self._paths.setdefault(column.group, []).append(("name",))

    def coded(self, column: FileColumn) -> Coded:
        coded = self.coded_by(column.source, column.path)
        if not column.labels:
            return coded
        of_names = _labelled(coded.names.to_numpy(zero_copy_only=False), column.labels)
        return Coded(np.where(coded.codes < 0, -1, of_names.codes[coded.codes]), of_names.names)

    def coded_by(self, source: str, path: Path) -> Coded:
        if source not in self._read:
            self._read[source] = self._look_up(source)
        return self._read[source][path]

    def _look_up(self, source: str) -> dict[Path, Coded]:
        paths = list(dict.fromkeys(self._paths[source]))
        references = self._rows.column(source).combine_chunks()
        wanted = references.unique().drop_null().to_pylist()
        ids, values = read_names(self._connection, self._tables[source], wanted, paths)
        places = pc.fill_null(pc.index_in(references, pa.array(ids, pa.int32())), -1)
        numbers = places.to_numpy().astype(np.int32)
        return {path: _coded(numbers, of_path) for path, of_path in zip(paths, values, strict=True)}


def keys_of(rests: pa.ChunkedArray, groups: Coded) -> Coded:
    """The keys of rests and groups. Each that occurs is put together once, however many rows have it."""
    names = pa.concat_arrays([groups.names, pa.array([""])])  # the last is that of no group
    of_rests = rests.combine_chunks().dictionary_encode()
    pairs = of_rests.indices.to_numpy() * np.int64(len(names)) + groups.codes % len(names)
    of_pairs = pa.array(pairs).dictionary_encode()
    rest, group = np.divmod(of_pairs.dictionary.to_numpy(), len(names))
    keys = _decoded(of_rests.dictionary.take(pa.array(rest)), names.take(pa.array(group)))
    order = pc.sort_indices(keys)
    ordered = keys.take(order)
    # 1 and "1" are keys of two groups, which are written alike
    is_other = pc.not_equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
    is_first = np.concatenate([[True], is_other])[: len(ordered)]
    codes = np.empty(len(keys), np.int32)
    codes[order.to_numpy()] = np.cumsum(is_first) - 1
    return Coded(codes[of_pairs.indices.to_numpy()], ordered.filter(pa.array(is_first)))


def _decoded(rests: pa.Array, groups: pa.Array) -> pa.Array:
    """As keys.decode_key, of arrays."""
    has_group = pc.match_substring(rests, GROUP_PLACEHOLDER)
    parts = pc.split_pattern(rests, GROUP_PLACEHOLDER, max_splits=1)
    ends = parts.offsets.to_numpy()
    before, after = (parts.values.take(pa.array(places)) for places in (ends[:-1], ends[1:] - 1))
    return pc.binary_join_element_wise(
        before, pc.if_else(has_group, groups, ""), pc.if_else(has_group, after, ""), ""
    )


def _coded(places: npt.NDArray[np.int32], values: tuple[object, ...]) -> Coded:
    """`places` are positions in `values`, which can have one value several times, or none."""
    names = sorted({value for value in values if value is not None})  # type: ignore[type-var]
    numbers = {value: number for number, value in enumerate(names)}
    # the last one is that of the place -1
    codes = np.array([*(numbers.get(value, -1) for value in values), -1], np.int32)
    return Coded(codes[places], pa.array(names) if names else pa.array([], pa.string()))


def _labelled(numbers: npt.NDArray[np.int64], labels: tuple[str, ...]) -> Coded:
    known = (numbers >= 0) & (numbers < len(labels))
    names = [*labels, UNKNOWN]
    order = sorted(range(len(names)), key=names.__getitem__)
    places = np.empty(len(names), np.int32)
    places[order] = np.arange(len(names), dtype=np.int32)
    codes = places[np.where(known, numbers, len(labels))]
    return Coded(codes, pa.array([names[place] for place in order]))


def _numbers(rows: pa.Table, column: str) -> npt.NDArray[np.int64]:
    return np.asarray(rows.column(column).to_numpy(), np.int64)
