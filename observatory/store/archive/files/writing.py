"""Writes one file of the archive: its row groups, encodings and statistics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from observatory.store.archive.catalogue import Written
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.files.columns import FileColumn, file_columns
from observatory.store.archive.files.rows import Coded
from observatory.store.archive.place import FORMAT, UNFINISHED, Place
from observatory.wire.kind import Kind

METADATA = "observatory"
"""the key of what a file says of itself, as JSON"""
SERIES = ("worker", "worker_lifetime", "metric", "labels")
"""series of one worker have the same times: next to each other they take a sixth less"""
TASK = ("prefix", "key")
OTHERS = ("prefix", "worker", "worker_lifetime")
WITH_COMMON_TIMES = ("sample", "profile")
"""kinds of which many rows of a worker have the same time"""
COMPRESSION_LEVEL = 9
"""of zstd: a tenth smaller than 1, and reading takes as long"""
LARGE_PAGE = 8 << 20
"""bytes: series of one worker have the same times, which only a compressor with all of them in sight sees"""
LONGEST_STATISTIC = 200
"""characters"""
FALSE_POSITIVES = 0.05
FILTERED = ("key", "depends_on")
ROWS_A_KEY = {"transition": 4, "dependency": 2}
"""how many rows of a kind have the same key, at the least: its filter is so much smaller"""


def order_of(kind: Kind) -> tuple[str, ...]:
    """The columns by which the rows of a row group are sorted."""
    names = {column.name for column in file_columns(kind)}
    if "stack" in names:  # the stacks of a worker's second have its time
        return "worker", "worker_lifetime", kind.time, "prefix", "stack"
    leading = SERIES if "metric" in names else TASK if "key" in names else OTHERS
    return (*(name for name in leading if name in names), kind.time)


def schema_of(kind: Kind) -> pa.Schema:
    return pa.schema([(column.name, _written_type(column)) for column in file_columns(kind)])


def sorted_table(kind: Kind, columns: Mapping[str, pa.Array | Coded]) -> pa.Table:
    """The rows in their order."""
    places = np.lexsort([_ranks(columns[name]) for name in reversed(order_of(kind))])
    wanted = pa.array(places)
    arrays = [
        Coded(values.codes[places], values.names).array()
        if isinstance(values, Coded)
        else values.take(wanted)
        for values in columns.values()
    ]
    schema = schema_of(kind)
    return pa.Table.from_arrays(
        [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
    )


def write_records(
    place: Place, path: str, kind: Kind, about: Mapping[str, Any], groups: Iterable[pa.Table], rows: int
) -> Written:
    """Write the row groups, which have up to `rows` rows. Raises ArchiveError."""
    columns = file_columns(kind)
    encodings = {column.name: _encoding(kind, column) for column in columns}
    schema = schema_of(kind)
    is_of_series = "metric" in schema.names
    options: dict[str, Any] = {
        "use_dictionary": [name for name, encoding in encodings.items() if not encoding],
        "column_encoding": {name: encoding for name, encoding in encodings.items() if encoding},
        "sorting_columns": pq.SortingColumn.from_ordering(
            schema, [(name, "ascending") for name in order_of(kind)], null_placement="at_start"
        ),
        **({"data_page_size": LARGE_PAGE} if is_of_series else {}),
    }
    keys = max(rows // ROWS_A_KEY.get(kind.name, 1), 1)
    options["bloom_filter_options"] = {
        name: {"ndv": keys, "fpp": FALSE_POSITIVES} for name in FILTERED if name in schema.names
    }
    return _write(place, path, schema, about, groups, (kind.time, kind.stop or kind.time), options)


def write_table(
    place: Place, path: str, schema: pa.Schema, about: Mapping[str, Any], groups: Iterable[pa.Table]
) -> Written:
    """Write the rows of another table than those of records. Raises ArchiveError."""
    return _write(place, path, schema, about, groups, None, {})


def _write(
    place: Place,
    path: str,
    schema: pa.Schema,
    about: Mapping[str, Any],
    groups: Iterable[pa.Table],
    times: tuple[str, str] | None,
    options: Mapping[str, Any],
) -> Written:
    rows = 0
    first, last = [], []
    with place.create(path) as file:
        with pq.ParquetWriter(
            file,
            schema,
            compression="zstd",
            compression_level=COMPRESSION_LEVEL,
            write_page_index=True,
            write_page_checksum=True,
            store_schema=False,
            **options,
        ) as writer:
            for group in groups:
                writer.write_table(group, row_group_size=group.num_rows)
                rows += group.num_rows
                if times:
                    first.append(pc.min(group.column(times[0])).as_py())
                    last.append(pc.max(group.column(times[1])).as_py())
            writer.add_key_value_metadata({METADATA: json.dumps({"format": FORMAT, **about})})
        size, digest = file.size, file.digest.hexdigest()
    return Written(
        rows,
        size,
        digest,
        min(first, default=None),
        max(last, default=None),
        _checked(place, path, rows, digest),
    )


def _checked(place: Place, path: str, rows: int, checksum: str) -> dict[str, list[Any]]:
    """Read a file that was written, and give it its name; returns its columns' least and greatest values."""
    unfinished = path + UNFINISHED
    if place.checksum(unfinished) != checksum:
        raise ArchiveError(f"{place.name}/{path} is not what was written: see the disk or the bucket's log.")
    with place.open(unfinished) as stream:
        metadata = pq.read_metadata(stream)
    if metadata.num_rows != rows:
        raise ArchiveError(f"{place.name}/{path} has {metadata.num_rows:,} rows and not {rows:,}.")
    place.finish(path)
    return _statistics(metadata)


def _statistics(metadata: pq.FileMetaData) -> dict[str, list[Any]]:
    """The least and the greatest value of each column of which all row groups have both."""
    found: dict[str, list[Any]] = {}
    for position in range(metadata.num_columns):
        groups = [metadata.row_group(group).column(position) for group in range(metadata.num_row_groups)]
        statistics = [column.statistics for column in groups if column.num_values]
        if statistics and all(each is not None and each.has_min_max for each in statistics):
            values = min(each.min for each in statistics), max(each.max for each in statistics)
            if all(len(str(value)) <= LONGEST_STATISTIC for value in values):
                found[groups[0].path_in_schema] = [_json(value) for value in values]
    return found


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float) else str(value)


def _written_type(column: FileColumn) -> pa.DataType:
    return (
        pa.dictionary(pa.int32(), pa.string())
        if column.is_name and column.type == pa.string()
        else column.type
    )


def _encoding(kind: Kind, column: FileColumn) -> str:
    """The encoding of a column; "": a dictionary."""
    if column.group:
        return "DELTA_BYTE_ARRAY"
    if kind.name in WITH_COMMON_TIMES and column.name == kind.time:
        return "PLAIN"
    if pa.types.is_timestamp(column.type) or pa.types.is_floating(column.type):
        return "BYTE_STREAM_SPLIT"
    return ""


def _ranks(values: pa.Array | Coded) -> np.ndarray[Any, np.dtype[Any]]:
    """Numbers in the order of the values; nulls come first."""
    if isinstance(values, Coded):
        return values.codes
    if pa.types.is_string(values.type):
        return pc.rank(values, "ascending", tiebreaker="dense").to_numpy()  # type: ignore[no-any-return]
    return values.cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]
