"""Results of queries as JSON, CSV, Arrow and Parquet."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from observatory.base.csv_lines import csv_lines

LONGEST_CELL = 80
"""characters on the terminal"""


def json_of(rows: pa.Table, file: IO[bytes]) -> None:
    """A list of objects."""
    found = [dict(zip(rows.column_names, row, strict=True)) for row in json_rows(rows)]
    file.write(json.dumps(found, ensure_ascii=False, indent=1).encode())


def json_rows(rows: pa.Table) -> list[list[Any]]:
    columns = [[_json(value) for value in column.to_pylist()] for column in rows.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def arrow_of(rows: pa.Table, file: IO[bytes]) -> None:
    """An IPC stream."""
    with pa.ipc.new_stream(file, rows.schema) as writer:
        writer.write_table(rows)


def parquet_of(rows: pa.Table, file: IO[bytes]) -> None:
    pq.write_table(rows, file, compression="zstd")


def csv_of(rows: pa.Table, file: IO[bytes]) -> None:
    """Lists and structures are JSON; no cell is a formula."""
    cells = (
        [json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in row]
        for row in json_rows(rows)
    )
    file.write(csv_lines([rows.column_names, *cells]).encode())


def table_of(rows: pa.Table, file: IO[bytes]) -> None:
    """A table for the terminal."""
    texts = [rows.column_names, *([_text(cell) for cell in row] for row in json_rows(rows))]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    are_numbers = [pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in rows.schema.types]
    lines = [
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, are_numbers, strict=True)
        ).rstrip()
        for row in texts
    ]
    text = "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
    file.write(text.encode())


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.6g}"
    text = json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else str(cell)
    text = " ".join(text.splitlines())
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def _json(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return float(value) if value.is_finite() else None
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return b64encode(value).decode()
        case list() | tuple():
            return [_json(each) for each in value]
        case dict():
            return {str(name): _json(each) for name, each in value.items()}
        case _:
            return value


WRITERS: dict[str, Callable[[pa.Table, IO[bytes]], None]] = {
    "table": table_of,
    "csv": csv_of,
    "json": json_of,
    "arrow": arrow_of,
    "parquet": parquet_of,
}
