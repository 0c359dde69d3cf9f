"""Exports of archived clusters read the files: the same rows, and nothing is brought back."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

from observatory.clusters.models import Cluster
from observatory.exchange.formats import FORMATS
from observatory.replay.scope import Scope
from observatory.store.archive import presence
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect_reader
from observatory.store.queries.timeline import snapshot
from observatory.store.reading import scanning
from observatory.store.times import from_microseconds
from observatory.store.transfer.extracts import Extract
from tests.exchange.everything import START as FIRST_START
from tests.exchange.everything import STOP as LAST_STOP
from tests.store.archive.conftest import remove_unused
from tests.store.archive.long_history import START, STEP, STEPS
from tests.store.archive.scans.searches import replace_files

Rows = dict[str, list[tuple[Any, ...]]]
WHOLE = (START - 100, START + STEPS * STEP + 100)
WITHIN = (START + 20 * STEP + 3.5, START + 90 * STEP + 1)
"""begins in the middle of a transfer"""


def _scope(cluster: int, window: tuple[float, float]) -> Scope:
    start, stop = (round(seconds * 1e6) for seconds in window)
    return Scope(Cluster.objects.get(pk=cluster), start=start, stop=stop)


def _written(name: str, scope: Scope) -> zipfile.ZipFile:
    file = io.BytesIO()
    FORMATS[name].write(scope, "a run", file, lambda done: None)
    return zipfile.ZipFile(file)


def _csv(scope: Scope) -> Rows:
    with _written("csv", scope) as found:
        return {
            name: sorted((line,) for line in found.read(name).decode().splitlines())
            for name in found.namelist()
        }


def _parquet(scope: Scope) -> Rows:
    with _written("parquet", scope) as found:
        return {
            name: sorted(
                (repr(row),)
                for row in pq.read_table(io.BytesIO(found.read(name)), partitioning=None).to_pylist()
            )
            for name in found.namelist()
        }


def _extract(scope: Scope) -> Rows:
    """What a bundle has."""
    found: Rows = {}
    with connect_reader() as reader, snapshot(reader):
        extract = Extract(
            reader, scope.cluster.pk, from_microseconds(scope.start), from_microseconds(scope.stop)
        )
        for table in extract.tables():
            names = [column.name for column in table.columns]
            rows = found[table.name] = []
            for block in extract.read(table):
                rows += zip(*(map(repr, block.list(name)) for name in names), strict=True)
            rows.sort()
    return found


EXPORTS: dict[str, Callable[[Scope], Rows]] = {"csv": _csv, "parquet": _parquet, "bundle": _extract}


@pytest.fixture
def archived(connection: psycopg.Connection, recorded: Cluster, folder: Path) -> Callable[[], None]:
    def archive() -> None:
        archive_round()
        assert remove_unused(connection, recorded.pk) > 0

    return archive


@pytest.mark.parametrize("window", [WHOLE, WITHIN])
@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_of_a_long_archived_history_has_the_same_rows_and_brings_nothing_back(
    name: str,
    window: tuple[float, float],
    connection: psycopg.Connection,
    recorded: Cluster,
    archived: Callable[[], None],
) -> None:
    scope = _scope(recorded.pk, window)
    before = EXPORTS[name](scope)
    assert sum(map(len, before.values())) > 1000
    archived()
    removed = presence.removed_kinds(connection, recorded.pk)
    assert EXPORTS[name](scope) == before
    assert presence.removed_kinds(connection, recorded.pk) == removed


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_has_every_kind_of_archived_record(
    name: str, connection: psycopg.Connection, cluster: Cluster, folder: Path
) -> None:
    scope = _scope(cluster.pk, (FIRST_START - 1e5, LAST_STOP + 1e5))
    before = EXPORTS[name](scope)
    archive_round()
    assert remove_unused(connection, cluster.pk) > 0
    removed = presence.removed_kinds(connection, cluster.pk)
    assert EXPORTS[name](scope) == before
    assert presence.removed_kinds(connection, cluster.pk) == removed


@pytest.mark.parametrize("name", EXPORTS)
def test_files_that_are_replaced_in_the_middle_of_an_export_lose_and_double_no_row(
    name: str,
    connection: psycopg.Connection,
    recorded: Cluster,
    archived: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scope = _scope(recorded.pk, WHOLE)
    before = EXPORTS[name](scope)
    archived()
    original, parts = scanning.parts, 0

    def some_parts(*args: Any) -> Any:
        nonlocal parts
        for part in original(*args):
            parts += 1
            if parts == 12:
                replace_files(recorded.pk)
            yield part

    for module in ("queries.named_records", "transfer.extracts"):
        monkeypatch.setattr(f"observatory.store.{module}.parts", some_parts)
    found = EXPORTS[name](scope)
    assert parts > 12
    for kind, rows in before.items():
        late = [row for row in found[kind] if row not in rows]
        assert [row for row in found[kind] if row in rows] == rows
        assert len(late) <= 1, "the log line and the edge that came meanwhile"
