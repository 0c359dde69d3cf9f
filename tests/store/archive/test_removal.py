from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings

from observatory.clusters.models import Cluster
from observatory.store.archive import catalogue
from observatory.store.archive.catalogue import LEAVING
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.place import Place
from observatory.store.archive.removal.uncounted_files import sweep
from observatory.store.archive.rounds.archiving import archive_cluster
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.rounds.waiting import waiting_clusters
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retained_windows import RetainedWindow
from observatory.store.maintenance.retention import apply_retention, delete_cluster
from observatory.store.times import from_seconds
from observatory.wire.kinds import stored_kinds
from observatory.wire.records import Event, Sample, Series
from tests.exchange.everything import START
from tests.store.archive.conftest import Archive

DAY = 86_400
RECORDS = {kind.name for kind in stored_kinds()}


def _two_more_days(cluster: int) -> None:
    """Samples and events of the two days before, hour by hour."""
    times = [START - hours * 3600 for hours in range(24, 72)]
    samples = [Sample(Series("m"), time, time) for time in times]
    with Writer() as writer:
        writer.write(Batch.of(cluster, samples=samples, events=[Event(time, "restarted") for time in times]))


def _leftovers(connection: psycopg.Connection) -> list[str]:
    return [piece.state for piece in catalogue.pieces(connection, states=("writing", "leaving"))]


def test_a_deleted_clusters_files_go_with_it(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, folder: Path
) -> None:
    archive_round()
    assert archive.files()
    delete_cluster(cluster.pk)
    assert archive.files() == []
    assert catalogue.pieces(connection, states=("stored", "writing", "leaving")) == []


@pytest.mark.parametrize("away", ["setting", "folder"])
def test_files_of_a_deleted_cluster_go_once_the_archive_is_back(
    away: str,
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    folder: Path,
    settings: LazySettings,
) -> None:
    archive_round()
    written, setting = archive.files(), settings.ARCHIVE
    if away == "setting":
        settings.ARCHIVE = ""
    else:
        folder.rename(folder.with_name("away"))
    delete_cluster(cluster.pk)
    assert catalogue.pieces(connection) == []
    assert _leftovers(connection) == [LEAVING] * len(written)
    settings.ARCHIVE = setting
    if away == "folder":
        with pytest.raises(ArchiveError, match=r"Mount the folder, or correct OBSERVATORY_ARCHIVE"):
            archive_round()
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_name("away").rename(folder)
    assert archive.files() == written
    archive_round()
    assert archive.files() == []
    assert _leftovers(connection) == []


def test_a_deletion_that_was_interrupted_before_its_files_went_is_finished_by_a_sweep(
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    archive_round()
    place_of_one: list[str] = []

    def remove_one(self: Place, path: str) -> None:
        if place_of_one:
            raise KeyboardInterrupt
        place_of_one.append(path)
        original(self, path)

    original = Place.remove
    monkeypatch.setattr(Place, "remove", remove_one)
    with pytest.raises(KeyboardInterrupt):
        delete_cluster(cluster.pk)
    monkeypatch.undo()
    assert archive.files()
    assert sweep(place) > 0
    assert (archive.files(), _leftovers(connection)) == ([], [])


def test_a_cluster_that_is_deleted_while_it_is_archived_leaves_no_file(
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def enter_late(*args: Any) -> bool:
        if not deleted:
            deleted.append(cluster.pk)
            delete_cluster(cluster.pk)
        return original(*args)

    deleted: list[int] = []
    original: Callable[..., bool] = catalogue.enter
    monkeypatch.setattr(catalogue, "enter", enter_late)
    archive_cluster(cluster.pk, place)
    assert deleted
    sweep(place)
    assert (archive.files(), _leftovers(connection), catalogue.pieces(connection)) == ([], [], [])


def test_retention_drops_the_files_of_days(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, folder: Path
) -> None:
    _two_more_days(cluster.pk)
    archive_round()
    now = from_seconds((START // DAY) * DAY) + timedelta(days=30)
    apply_retention({cluster.pk: 30}, 30, now)
    assert waiting_clusters(connection) == [cluster.pk]
    archive_round()
    assert {start for kind, start in archive.rows(cluster.pk) if kind in RECORDS} == {
        from_seconds((START // DAY) * DAY)
    }
    assert archive.faults(cluster.pk) == []


def test_a_shorter_retention_and_kept_windows_hold_for_files_to_the_row(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, folder: Path
) -> None:
    _two_more_days(cluster.pk)
    archive_round()
    kept = RetainedWindow(cluster.pk, from_seconds(START - 50 * 3600), from_seconds(START - 48 * 3600))
    now = from_seconds(START - 30 * 3600) + timedelta(days=7)
    apply_retention({cluster.pk: 7}, 30, now, [kept])
    archive_round()
    times = archive.table("sample", cluster.pk).column("value").to_pylist()
    old = sorted(time for time in times if time < START - 23 * 3600)
    expected = [START - hours * 3600 for hours in (50, 49, *range(30, 23, -1))]
    assert old == expected
    assert archive.faults(cluster.pk) == []
    assert waiting_clusters(connection) == []


def test_rows_that_retention_removes_while_a_cluster_is_archived_leave_its_files_as_well(
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _two_more_days(cluster.pk)
    now = from_seconds(START - 30 * 3600) + timedelta(days=7)
    original = catalogue.note_archived

    def note_late(*args: Any) -> None:
        apply_retention({cluster.pk: 7}, 30, now)
        original(*args)

    monkeypatch.setattr(catalogue, "note_archived", note_late)
    archive_cluster(cluster.pk, place)
    monkeypatch.undo()
    assert waiting_clusters(connection) == [cluster.pk]
    archive_cluster(cluster.pk, place)
    assert archive.faults(cluster.pk) == []


def test_files_that_are_being_written_stay_when_another_process_sweeps(
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    swept: list[int] = []
    original = Place.finish

    def finish_later(self: Place, path: str) -> None:
        swept.append(sweep(place))
        original(self, path)

    monkeypatch.setattr(Place, "finish", finish_later)
    archive_cluster(cluster.pk, place)
    monkeypatch.undo()
    assert set(swept) == {0}
    assert archive.faults(cluster.pk) == []
