"""The process that runs one query: `python -m observatory.store.sql.session FOLDER`.

It knows neither the settings nor the database. Lines of JSON come and go: it gets the query and its limits,
says which tables that reads, gets their sources, and says how the result is, which it writes to RESULT in
the folder. DuckDB may reach no file and no network, and can't be told otherwise: pyarrow reads the sources.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from observatory.store.sql.limits import RESULT, TOO_MUCH_MEMORY

ROWS_AT_ONCE = 4_096
MOST_BYTES = 64 << 20
"""of a result"""
THREADS = 2
SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "enable_external_access": "false",
    "TimeZone": "'UTC'",
    "threads": str(THREADS),
}
ONE_SELECT = "Only one query that begins with SELECT, WITH, FROM, VALUES, DESCRIBE or SUMMARIZE is run."


class Refused(Exception):
    """The query can't be run. The message says why."""


def tables_of(query: str) -> list[str]:
    """The names of tables that a query reads, and of its own that it defines. Raises Refused."""
    connection = duckdb.connect(":memory:")
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise Refused(str(error)) from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise Refused(ONE_SELECT)
    row = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    tree = json.loads(row[0]) if row else {}
    if tree.get("error"):
        raise Refused(str(tree.get("error_message") or ONE_SELECT))
    return sorted(set(_names(tree)))


def _names(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("type") == "BASE_TABLE":
            yield str(node["table_name"]).lower()
        for value in node.values():
            yield from _names(value)
    elif isinstance(node, list):
        for value in node:
            yield from _names(value)


def open_tables(folder: Path, limits: Mapping[str, int], given: Mapping[str, Any]) -> Any:
    """A connection that knows the tables and nothing else."""
    connection = duckdb.connect(":memory:")
    connection.execute(f"SET temp_directory = '{folder / 'spilled'}'")
    connection.execute(f"SET memory_limit = '{limits['memory']}MiB'")
    archive = fs.FileSystem.from_uri(given["archive"])[0] if given["archive"] else None
    for name, source in given["tables"].items():
        connection.register(f"all {name}", _dataset(source, archive))
        connection.execute(f'CREATE VIEW "{name}" AS SELECT * FROM "all {name}"{_window(source)}')
    for name, value in SETTINGS.items():
        connection.execute(f"SET {name} = {value}")
    connection.execute("SET lock_configuration = true")
    return connection


def _dataset(source: Mapping[str, Any], archive: fs.FileSystem | None) -> Any:
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(source["schema"])))
    format, local = ds.ParquetFileFormat(), fs.LocalFileSystem()
    by_place: dict[bool, list[Any]] = {}
    for part in source["parts"]:
        filesystem = archive if part["is_archived"] else local
        known = None
        for name, value in part["values"]:
            is_value = ds.field(name) == value
            known = is_value if known is None else known & is_value
        fragment = format.make_fragment(part["path"], filesystem, partition_expression=known)
        by_place.setdefault(part["is_archived"], []).append(fragment)
    datasets = [
        ds.FileSystemDataset(fragments, schema, format, archive if is_archived else local)
        for is_archived, fragments in by_place.items()
    ]
    if not datasets:
        return schema.empty_table()
    return datasets[0] if len(datasets) == 1 else ds.UnionDataset(schema, datasets)


def _window(source: Mapping[str, Any]) -> str:
    if not source["time"]:
        return ""
    column = f'"{source["time"]}"'
    return f" WHERE {column} >= '{source['after']}' AND {column} < '{source['before']}'"


def run(connection: Any, query: str, rows: int, path: Path) -> dict[str, Any]:
    """Write up to so many rows of the result; says how many, and whether there are more. Raises Refused."""
    try:
        reader = connection.sql(query).to_arrow_reader(ROWS_AT_ONCE)
        written = size = 0
        with pa.ipc.new_stream(path, reader.schema) as writer:
            for batch in reader:
                taken = batch.slice(0, rows - written)
                size += taken.nbytes
                if taken.num_rows < batch.num_rows or size > MOST_BYTES:
                    if size <= MOST_BYTES:
                        writer.write_batch(taken)
                        written += taken.num_rows
                    return {"rows": written, "has_more": True}
                writer.write_batch(taken)
                written += taken.num_rows
        return {"rows": written, "has_more": False}
    except (duckdb.Error, pa.ArrowException, OSError, MemoryError) as error:
        raise Refused(_reason(error)) from None


def _reason(error: BaseException) -> str:
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return TOO_MUCH_MEMORY
    if isinstance(error, OSError) and not isinstance(error, pa.ArrowInvalid):
        return f"A file of the archive can't be read now: {error}. Try again."
    return str(error)


def main(folder: Path) -> None:
    asked = json.loads(sys.stdin.readline())
    try:
        _answer({"tables": tables_of(asked["query"])})
        given = json.loads(sys.stdin.readline() or "null")
        if given is not None:
            connection = open_tables(folder, asked, given)
            _answer(run(connection, asked["query"], asked["rows"], folder / RESULT))
    except Refused as error:
        _answer({"refused": str(error)})


def _answer(answer: Mapping[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
