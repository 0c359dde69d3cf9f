"""Searches say which files are damaged, and that an archive is away."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest

from observatory.clusters.models import Cluster
from observatory.store.archive.errors import ArchiveError, DamagedFile
from tests.store.archive.conftest import Archive
from tests.store.archive.scans.searches import pages, search
from tests.support.projects import World


def test_pages_say_that_a_file_is_damaged(
    connection: psycopg.Connection, archived: Cluster, world: World, archive: Archive, folder: Path
) -> None:
    paths = pages(connection, archived.pk)
    client = world.client("owner")
    client.raise_request_exception = False
    for path in [folder / each for each in archive.files()]:
        path.write_bytes(bytes(path.stat().st_size))  # as disks do
    for path in paths:
        answer = client.get(path, follow=True)
        text = unescape(answer.content.decode())
        if "/search" in path and "clusters" not in path:
            assert answer.status_code == 200, path
            assert "were not searched" in text or f'"unreadable":[{archived.pk}]' in text, path
        else:
            assert answer.status_code == 503, path
            assert "A file of the archive is damaged" in text, path
            assert "archive verify" in text, path


def test_damage_of_rows_is_noticed(
    connection: psycopg.Connection, archived: Cluster, archive: Archive, folder: Path
) -> None:
    expected = search(archived.pk)
    path = folder / archive.paths(archived.pk)["log"][0]
    whole = path.read_bytes()
    metadata = pq.read_metadata(path)
    columns = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    noticed = 0
    for column in columns:
        if column.path_in_schema not in ("time", "message"):
            continue
        middle = column.data_page_offset + column.total_compressed_size * 3 // 4
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 0x10]) + whole[middle + 1 :])
        try:
            found = search(archived.pk)
        except DamagedFile:
            noticed += 1
        else:
            assert found == expected
    assert noticed > 4


def test_an_archive_that_is_away_is_said_to_be_away(archived: Cluster, world: World, folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    client = world.client("owner")
    client.raise_request_exception = False
    answer = client.get(f"/clusters/{archived.pk}/logs/?text=needle")
    assert answer.status_code == 503
    assert "The archive is away" in answer.content.decode()
    assert "were not searched" in client.get("/search?q=load-3", follow=True).content.decode()
    with pytest.raises(ArchiveError, match="Mount the folder"):
        search(archived.pk)
