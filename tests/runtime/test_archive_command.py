"""`dask-observatory archive`, and what doctor and /metrics say of the archive."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from pyarrow import fs

from observatory.clusters.models import Cluster
from observatory.runtime.health.checks import archived
from observatory.runtime.health.own_metrics import archive_metrics
from observatory.store.archive import catalogue
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.place import MARK, Place, place, required_place
from observatory.store.maintenance.retention import delete_cluster
from tests.store.archive.conftest import archive, cluster, connection, folder, world

__all__ = ["archive", "cluster", "connection", "folder", "world"]


def test_what_waits_is_archived_listed_and_verified(
    connection: psycopg.Connection, cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("archive", "run")
    said = capsys.readouterr().out
    assert f"cluster {cluster.pk}: " in said
    assert "clusters archived: 1, waiting: 0; files: " in said
    call_command("archive", "list")
    assert f"cluster {cluster.pk}, {cluster.name}: " in capsys.readouterr().out
    call_command("archive", "list", "--files", "--cluster", str(cluster.pk))
    paths = capsys.readouterr().out.split()
    assert paths == [piece.path for piece in catalogue.pieces(connection)]
    call_command("archive", "verify")
    assert f"{len(paths)} files with " in capsys.readouterr().out


def test_damaged_missing_and_unknown_files_and_other_numbers_of_rows_are_found(
    connection: psycopg.Connection, cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("archive", "run")
    paths = {piece.kind: folder / piece.path for piece in catalogue.pieces(connection)}
    with paths["span"].open("r+b") as file:
        file.seek(100)
        byte = file.read(1)
        file.seek(100)
        file.write(bytes([byte[0] ^ 1]))
    paths["log"].unlink()
    (folder / "span/stray.parquet").write_bytes(b"PAR1")
    connection.execute("DELETE FROM steal WHERE cluster_id = %s", [cluster.pk])
    capsys.readouterr()
    with pytest.raises(CommandError, match="4 faults"):
        call_command("archive", "verify")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    for part in ("checksum differs", "log/project=", "span/stray.parquet", ", steal, "):
        assert any(part in line for line in lines), part
    call_command("archive", "run", "--again")
    (folder / "span/stray.parquet").unlink()
    call_command("archive", "verify")


def test_commands_without_an_archive_say_how_to_get_one(connection: psycopg.Connection) -> None:
    with pytest.raises(CommandError, match="set OBSERVATORY_ARCHIVE"):
        call_command("archive", "run")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "its disk is full: free disk space"),
        (errno.EACCES, "may not read and write there"),
        (errno.EROFS, "it is read-only"),
    ],
)
def test_a_folder_that_takes_no_files_is_explained_and_nothing_is_entered(
    number: int,
    said: str,
    connection: psycopg.Connection,
    cluster: Cluster,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    required_place().check(is_used=False)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(CommandError, match=said):
        call_command("archive", "run")
    assert catalogue.pieces(connection) == []
    monkeypatch.undo()
    call_command("archive", "run")
    call_command("archive", "verify")


def test_doctor_and_metrics_say_what_is_archived_and_what_is_wrong(
    connection: psycopg.Connection, cluster: Cluster, folder: Path, settings: LazySettings
) -> None:
    assert archived().text.startswith("clusters archived: 0, waiting: 1; ")
    call_command("archive", "run")
    found = archived()
    assert found.ok
    assert found.text.startswith("clusters archived: 1, waiting: 0; ")
    registry = CollectorRegistry()
    registry.register(_Archive())
    text = generate_latest(registry).decode()
    assert 'observatory_archive_clusters{state="archived"} 1.0' in text
    assert f"observatory_archive_files {len(catalogue.pieces(connection))}.0" in text
    (folder / MARK).unlink()
    assert not archived().ok
    assert "Mount the folder" in archived().text
    setting, settings.ARCHIVE = settings.ARCHIVE, ""
    assert archived().text == "none"
    delete_cluster(cluster.pk)
    assert "files of deleted records can't be removed" in archived().text
    assert archived().remedy == "set OBSERVATORY_ARCHIVE as it was"
    settings.ARCHIVE = setting
    (folder / MARK).write_text("{}")
    call_command("archive", "run")
    assert archived().text == "clusters archived: 0, waiting: 0; files: 0 (0 B)"


class _Archive(Collector):
    def collect(self) -> Iterator[Metric]:
        yield from archive_metrics()


def test_the_place_is_a_folder_or_an_object_store(settings: LazySettings, tmp_path: Path) -> None:
    settings.ARCHIVE = ""
    assert place() is None
    settings.ARCHIVE = f"file://{tmp_path}"
    assert required_place() == Place(f"file://{tmp_path}", fs.LocalFileSystem(), str(tmp_path))
    settings.ARCHIVE = "s3://key:secret@bucket/folder?endpoint_override=127.0.0.1:1&scheme=http&region=here"
    found = required_place()
    assert (found.name, found.root, found.filesystem.type_name) == (
        "s3://bucket/folder",
        "bucket/folder",
        "s3",
    )
    settings.ARCHIVE = "s3://key:secret@bucket/folder?nonsense=1"
    with pytest.raises(ArchiveError) as error:
        required_place()
    assert "secret" not in str(error.value)
    assert "OBSERVATORY_ARCHIVE, s3://bucket/folder, can't be used" in str(error.value)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_what_root_archives_belongs_to_the_owner_of_the_folder(
    connection: psycopg.Connection, cluster: Cluster, folder: Path
) -> None:
    os.chown(folder, 12345, 23456)
    call_command("archive", "run")
    made = [each for each in folder.rglob("*") if each.name != MARK]
    assert any(each.is_dir() for each in made)
    assert any(each.is_file() for each in made)
    assert {(each.stat().st_uid, each.stat().st_gid) for each in folder.rglob("*")} == {(12345, 23456)}
