"""Runs one query of people over what they may see, in a process of its own."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
import pyarrow as pa
from django.conf import settings

import observatory
from observatory.store.archive.place import Place, place
from observatory.store.sql.limits import LONGEST_QUERY, RESULT, TOO_MUCH_MEMORY, Limits
from observatory.store.sql.own_tables import OWN_TABLES
from observatory.store.sql.sources import QueryScope, Source, Sources
from observatory.store.sql.tables import STORED_TABLES, RecordTable, StoredTable, record_tables

CREDENTIALS = ("AWS_", "AZURE_", "GOOGLE_", "S3_")
"""beginnings of variables that object stores know people by"""
NEEDED = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE")
"""variables that the process needs; it gets no other, such as the secret key"""

BESIDE_DUCKDB = 512
"""MiB that Python and pyarrow may take beside DuckDB's memory"""
LOOK_EVERY = 0.2
"""seconds"""


class QueryRefused(Exception):
    """The query is wrong, or takes more than it may. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Result:
    rows: pa.Table
    has_more: bool
    """whether the query has more rows than that"""


def run_query(query: str, scope: QueryScope, limits: Limits) -> Result:
    """The rows of a query. Raises QueryRefused, TooManyRows, ArchiveError and psycopg.Error."""
    if len(query) > LONGEST_QUERY:
        raise QueryRefused(f"The query is longer than {LONGEST_QUERY:,} characters.")
    tables, archive = tables_by_name(), place()
    with tempfile.TemporaryDirectory(prefix="observatory-sql-") as name:
        folder = Path(name)
        with _session(folder, archive, limits) as session:
            asked = {"query": query, "memory": limits.memory, "rows": limits.rows}
            names = session.ask(asked)["tables"]
            sources = Sources(folder, scope, archive, limits)
            given = {
                table: _description(sources.of(tables[table]), scope, archive)
                for table in names
                if table in tables
            }
            answer = session.ask({"archive": settings.ARCHIVE if archive else "", "tables": given})
        with pa.OSFile(str(folder / RESULT)) as file, pa.ipc.open_stream(file) as reader:
            return Result(reader.read_all(), answer["has_more"])


def tables_by_name() -> dict[str, RecordTable | StoredTable]:
    """All tables that queries know, in order of their names."""
    tables: list[RecordTable | StoredTable] = [*STORED_TABLES, *OWN_TABLES, *record_tables()]
    return {table.name: table for table in sorted(tables, key=lambda table: table.name)}


def _description(source: Source, scope: QueryScope, archive: Place | None) -> dict[str, Any]:
    """A source as the process reads it."""
    root = "" if archive is None else f"{archive.root}/"
    return {
        "schema": base64.b64encode(source.schema.serialize()).decode(),
        "time": source.time,
        "after": scope.after.isoformat(),
        "before": scope.before.isoformat(),
        "parts": [
            {
                "path": root + part.path if part.is_archived else part.path,
                "is_archived": part.is_archived,
                "values": part.values,
            }
            for part in source.parts
        ],
    }


class _Session:
    """The process, which is asked line by line, and is ended when it takes too much."""

    def __init__(self, process: subprocess.Popen[str], limits: Limits) -> None:
        self._process, self._limits = process, limits
        self._reason = "The query ended the process that ran it: try it with fewer rows."

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Raises QueryRefused, also where the process ends or is ended."""
        assert self._process.stdin
        assert self._process.stdout
        answered = threading.Event()
        watching = threading.Thread(target=self._watch, args=[answered])
        watching.start()
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            answered.set()
            watching.join()
        if not line:
            raise QueryRefused(self._reason)
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise QueryRefused(answer["refused"])
        return answer

    def _watch(self, answered: threading.Event) -> None:
        process, began = psutil.Process(self._process.pid), monotonic()
        most = (self._limits.memory + BESIDE_DUCKDB) << 20
        while not answered.wait(LOOK_EVERY):
            with suppress(psutil.Error):
                if process.memory_info().rss > most:
                    return self._end(TOO_MUCH_MEMORY)
            if monotonic() - began > self._limits.seconds:
                return self._end(
                    f"The query takes longer than {self._limits.seconds} s: choose a shorter window, or "
                    "filter earlier."
                )
        return None

    def _end(self, reason: str) -> None:
        self._reason = reason
        self._process.kill()


@contextmanager
def _session(folder: Path, archive: Place | None, limits: Limits) -> Iterator[_Session]:
    command = [sys.executable, "-m", "observatory.store.sql.session", str(folder)]
    wanted = (
        NEEDED
        if archive is None
        else (*NEEDED, *(name for name in os.environ if name.startswith(CREDENTIALS)))
    )
    environment = {name: os.environ[name] for name in wanted if name in os.environ}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env={**environment, "HOME": str(folder), "PYTHONPATH": _python_path()},
    ) as process:
        try:
            yield _Session(process, limits)
        finally:
            process.kill()


def _python_path() -> str:
    """Where the process finds this package, and whatever this one finds."""
    paths = [str(Path(observatory.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(path for path in paths if path)
