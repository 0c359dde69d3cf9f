"""A cluster that ended, with records of every kind on two days, and an archive in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import LazySettings

from observatory.clusters.models import Cluster
from observatory.replay import task_search
from observatory.replay.logs import counts
from observatory.replay.logs import search as log_search
from observatory.store.archive import catalogue, needed, presence
from observatory.store.archive.files.verification import Fault, verify_files, verify_rows
from observatory.store.archive.place import Place, required_place
from observatory.store.archive.removal.departure import remove_rows
from observatory.store.archive.rounds.pace import Pace
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect
from observatory.store.engines import choose
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.times import from_seconds
from observatory.wire.head import Head
from observatory.wire.kinds import stored_kinds
from tests.exchange.everything import START, STOP, write_everything
from tests.store.archive.long_history import START as BEGIN
from tests.store.archive.long_history import STEP, STEPS, make_small_groups, write_long_history
from tests.support.projects import World, world

__all__ = ["world"]


@pytest.fixture
def connection(transactional_db: None) -> Iterator[psycopg.Connection]:
    with connect() as connection:
        yield connection
        for (cluster,) in connection.execute("SELECT cluster_id FROM extent").fetchall():
            delete_cluster(cluster)
        connection.execute("DELETE FROM archive_piece")
        connection.execute("DELETE FROM archived_cluster")
        connection.execute("DELETE FROM archived_rows")
    needed.forget()


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> None:
    needed.forget()


@pytest.fixture
def folder(settings: LazySettings, tmp_path: Path) -> Path:
    """The archive's folder."""
    settings.ARCHIVE = str(tmp_path / "archive")
    (tmp_path / "archive").mkdir()
    return tmp_path / "archive"


@pytest.fixture
def place(folder: Path) -> Place:
    return required_place()


@pytest.fixture
def cluster(connection: psycopg.Connection, world: World) -> Cluster:
    """With records of every kind."""
    write_everything(world.ended.pk)
    return world.ended


@pytest.fixture
def recorded(connection: psycopg.Connection, world: World, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """With hours of records, which get many files of few rows."""
    make_small_groups(monkeypatch)
    for module in (log_search, counts, task_search):  # a slow machine is to find all, too
        monkeypatch.setattr(module, "BUDGET", 1e9)
    cluster = world.ended
    write_long_history(cluster.pk)
    cluster.started, cluster.ended = from_seconds(BEGIN - 10), from_seconds(BEGIN + STEPS * STEP)
    cluster.save()
    return cluster


class Archive:
    """What is in the archive, as files and catalogue say."""

    def __init__(self, connection: psycopg.Connection, folder: Path) -> None:
        self._connection, self._folder = connection, folder

    def table(self, kind: str, cluster: int) -> pa.Table:
        """The rows of all files of a kind that the catalogue lists."""
        pieces = [piece for piece in catalogue.pieces(self._connection, cluster) if piece.kind == kind]
        return pa.concat_tables(
            [pq.read_table(self._folder / piece.path, partitioning=None) for piece in pieces]
        )

    def paths(self, cluster: int) -> dict[str, list[str]]:
        """By kind."""
        found: dict[str, list[str]] = {}
        for piece in catalogue.pieces(self._connection, cluster):
            found.setdefault(piece.kind, []).append(piece.path)
        return found

    def files(self) -> list[str]:
        """Those that are there, whatever the catalogue says."""
        return sorted(
            str(path.relative_to(self._folder)) for path in self._folder.rglob("*.parquet*") if path.is_file()
        )

    def rows(self, cluster: int) -> dict[tuple[str, datetime], int]:
        """Numbers of rows by kind and start."""
        pieces = catalogue.pieces(self._connection, cluster)
        return {(piece.kind, piece.start): piece.rows for piece in pieces}

    def faults_of_pieces(self) -> list[Any]:
        return faults_of_files(self._connection)

    def faults(self, cluster: int) -> list[Any]:
        return faults(self._connection, cluster)


def faults(connection: psycopg.Connection, cluster: int) -> list[Any]:
    of_files = verify_files(connection, required_place())
    return [*(each for each in of_files if isinstance(each, Fault)), *verify_rows(connection, cluster)]


def faults_of_files(connection: psycopg.Connection) -> list[Any]:
    """Of files that the catalogue lists."""
    known = {piece.path for piece in catalogue.pieces(connection)}
    found = verify_files(connection, required_place())
    return [each for each in found if isinstance(each, Fault) and each.where in known]


def rows_of(connection: psycopg.Connection, cluster: int) -> dict[str, list[tuple[object, ...]]]:
    """The rows of each kind as their tables have them."""
    kinds = [kind.name for kind in stored_kinds()]
    return {
        kind: sorted(
            connection.execute(f"SELECT {kind}::text FROM {kind} WHERE cluster_id = %s", [cluster]).fetchall()
        )
        for kind in kinds
    }


@pytest.fixture
def archive(connection: psycopg.Connection, folder: Path) -> Archive:
    return Archive(connection, folder)


def compress(connection: psycopg.Connection) -> None:
    """Have TimescaleDB compress all records; PostgreSQL alone compresses none."""
    if choose(connection).name == "timescale":
        for kind in stored_kinds():
            connection.execute(
                "SELECT compress_chunk(chunk, true) FROM show_chunks(%s::regclass) AS chunk", [kind.name]
            )


def remove_unused(connection: psycopg.Connection, cluster: int) -> int:
    """Remove the rows of an archived cluster as if nobody had needed them for long; returns their number."""
    presence.list_kinds(connection, cluster)
    connection.execute("UPDATE archived_rows SET used = now() - interval '1 day'")
    needed.forget()
    return remove_rows(cluster, required_place(), Pace())


def next_head(connection: psycopg.Connection, cluster: Cluster) -> Head:
    """Of the next batch of the cluster's agent."""
    row = connection.execute("SELECT id, sequence FROM agent WHERE cluster_id = %s", [cluster.pk]).fetchone()
    assert row is not None
    return Head(row[0].hex, row[1] + 1, cluster.scheduler_id, "etl", "", START - 100, START - 90, STOP + 300)


@pytest.fixture
def removed(
    connection: psycopg.Connection, cluster: Cluster, place: Place
) -> dict[str, list[tuple[object, ...]]]:
    """The rows of the cluster, which are in the archive alone."""
    before = rows_of(connection, cluster.pk)
    archive_round()
    assert remove_unused(connection, cluster.pk) == sum(map(len, before.values()))
    return before
