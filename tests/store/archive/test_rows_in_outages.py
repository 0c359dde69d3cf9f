"""Archived rows where a process is killed, or the archive is away."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.conf import LazySettings

from observatory.clusters.models import Cluster
from observatory.runtime.health import archive as health
from observatory.store.archive import presence
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.place import Place
from observatory.store.archive.removal import departure
from observatory.store.archive.restoring import bringing_back
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect
from observatory.store.engines.plain import Plain
from observatory.store.engines.timescale import Timescale
from observatory.store.maintenance.retained_windows import RetainedWindow
from observatory.store.maintenance.retention import apply_retention
from observatory.store.times import from_seconds
from tests.exchange.everything import START, STOP
from tests.store.archive.changes_of_rows import KINDS, read_events, write_late
from tests.store.archive.conftest import Archive, remove_unused, rows_of
from tests.store.archive.killing import killed

OPERATIONS = (
    (Place, "checksum"),
    (Place, "open"),
    (bringing_back, "copied_rows"),
    (departure, "copied_rows"),
    (departure, "_digest"),
    (presence, "note_removed"),
    (presence, "note_brought_back"),
    (Plain, "allow_deletes"),
    (Timescale, "allow_deletes"),
)


def _is_everything_there_once(
    connection: psycopg.Connection, cluster: int, rows: dict[str, list[tuple[object, ...]]]
) -> bool:
    """Whether each kind is wholly in its table, or in the archive alone."""
    removed, found = presence.removed_kinds(connection, cluster), rows_of(connection, cluster)
    return all(found[kind] == ([] if kind in removed else rows[kind]) for kind in KINDS)


def test_a_process_that_is_killed_while_rows_leave_or_come_back_loses_and_doubles_nothing(
    connection: psycopg.Connection, cluster: Cluster, place: Place, archive: Archive
) -> None:
    before = rows_of(connection, cluster.pk)
    archive_round()
    kills = {"leaving": 0, "coming back": 0}
    operations = 0
    while len(presence.removed_kinds(connection, cluster.pk)) < len(KINDS):
        kills["leaving"] += killed(lambda: remove_unused(connect(), cluster.pk), OPERATIONS, operations)
        operations += 3
        assert _is_everything_there_once(connection, cluster.pk, before)
    operations = 0
    while presence.removed_kinds(connection, cluster.pk):
        kills["coming back"] += killed(lambda: bring_back(cluster.pk, KINDS), OPERATIONS, operations)
        operations += 9
        assert _is_everything_there_once(connection, cluster.pk, before)
    assert min(kills.values()) > 5
    assert rows_of(connection, cluster.pk) == before
    assert archive.faults(cluster.pk) == []


@pytest.mark.parametrize("away", ["setting", "folder"])
def test_while_the_archive_is_away_nothing_is_deleted_and_recording_goes_on(
    away: str,
    connection: psycopg.Connection,
    cluster: Cluster,
    removed: dict[str, list[tuple[object, ...]]],
    folder: Path,
    settings: LazySettings,
) -> None:
    setting = settings.ARCHIVE
    if away == "setting":
        settings.ARCHIVE = ""
    else:
        folder.rename(folder.with_name("away"))
    with pytest.raises(ArchiveError):
        read_events(cluster.pk)
    write_late(connection, cluster)
    kept = RetainedWindow(cluster.pk, from_seconds(START), from_seconds(STOP))
    apply_retention({cluster.pk: 1}, 30, from_seconds(STOP) + timedelta(days=20), [kept])
    settings.ARCHIVE = setting
    if away == "folder":
        folder.with_name("away").rename(folder)
    assert len(read_events(cluster.pk)) == len(removed["event"]) + 1


def test_doctor_says_that_rows_are_in_the_archive_alone_and_there_is_none(
    connection: psycopg.Connection,
    settings: LazySettings,
    removed: dict[str, list[tuple[object, ...]]],
) -> None:
    found = health.progress()
    assert found.removed == sum(map(len, removed.values()))
    assert f"rows that left the tables: {found.removed}" in health.sentence(found).replace(",", "")
    assert health.fault(found) == ("", "")
    settings.ARCHIVE = ""
    assert "in the archive alone, and there is none" in health.fault(found)[0]
