"""Rows leave their tables once they are archived, and come back when they are needed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Event as Flag

import psycopg
import pytest
from django.conf import LazySettings

from observatory.clusters.models import Cluster
from observatory.runtime.health import archive as health
from observatory.store.archive import catalogue, needed, presence
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.files import columns
from observatory.store.archive.place import Place
from observatory.store.archive.removal import departure
from observatory.store.archive.removal.departure import remove_rows
from observatory.store.archive.restoring import bringing_back
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds.pace import Pace
from observatory.store.archive.rounds.round import archive_again, archive_round
from observatory.store.archive.rounds.waiting import waiting_clusters
from observatory.store.connection import connect, connect_reader
from observatory.store.engines.plain import Plain
from observatory.store.engines.timescale import Timescale
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retained_windows import RetainedWindow
from observatory.store.maintenance.retention import apply_retention, delete_cluster
from observatory.store.queries.cluster_rows import count_records_before, count_rows
from observatory.store.queries.timeline import events, snapshot
from observatory.store.times import from_seconds
from observatory.wire.head import Head
from observatory.wire.kinds import stored_kinds
from observatory.wire.records import Event, Sample, Series
from tests.exchange.everything import START, STOP
from tests.store.archive.conftest import Archive, compress, next_head, remove_unused, rows_of
from tests.store.archive.killing import killed

KINDS = [kind.name for kind in stored_kinds()]
DAY = 86_400
ALL_TIME = int((START - 10 * DAY) * 1e6), int((STOP + 10 * DAY) * 1e6)


def _read_events(cluster: int) -> list[str]:
    with connect_reader() as connection:
        return [kind for _, _, kind, _ in events(connection, cluster, *ALL_TIME)]


@pytest.fixture
def removed(
    connection: psycopg.Connection, cluster: Cluster, place: Place
) -> dict[str, list[tuple[object, ...]]]:
    """The rows of the cluster, which are in the archive alone."""
    before = rows_of(connection, cluster.pk)
    archive_round()
    assert remove_unused(connection, cluster.pk) == sum(map(len, before.values()))
    return before


@pytest.mark.parametrize("is_compressed", [False, True])
def test_rows_come_back_as_they_left(
    is_compressed: bool, connection: psycopg.Connection, cluster: Cluster, folder: Path
) -> None:
    before = rows_of(connection, cluster.pk)
    assert all(before.values())
    archive_round()
    if is_compressed:
        compress(connection)
    assert remove_unused(connection, cluster.pk) == sum(map(len, before.values()))
    assert not any(rows_of(connection, cluster.pk).values())
    assert presence.removed_kinds(connection, cluster.pk) == sorted(KINDS)
    bring_back(cluster.pk, KINDS)
    assert presence.removed_kinds(connection, cluster.pk) == []
    assert rows_of(connection, cluster.pk) == before
    bring_back(cluster.pk, KINDS)
    assert rows_of(connection, cluster.pk) == before
    if is_compressed:
        compress(connection)
        assert remove_unused(connection, cluster.pk) == sum(map(len, before.values()))


def test_only_the_kinds_that_a_read_needs_come_back(
    connection: psycopg.Connection, cluster: Cluster, removed: dict[str, list[tuple[object, ...]]]
) -> None:
    assert len(_read_events(cluster.pk)) == len(removed["event"])
    found = rows_of(connection, cluster.pk)
    assert {kind for kind in KINDS if found[kind]} == {"event"}
    assert found["event"] == removed["event"]


def test_a_snapshot_from_before_rows_came_back_sees_them(
    connection: psycopg.Connection, cluster: Cluster, removed: dict[str, list[tuple[object, ...]]]
) -> None:
    with connect_reader() as reader, snapshot(reader):
        reader.execute("SELECT count(*) FROM extent")
        bring_back(cluster.pk, ["event"])
        assert len(events(reader, cluster.pk, *ALL_TIME)) == len(removed["event"])


def test_two_readers_bring_rows_back_once(
    connection: psycopg.Connection,
    cluster: Cluster,
    removed: dict[str, list[tuple[object, ...]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = Flag()
    original = bringing_back.copied_rows
    copies: list[str] = []

    def copy_slowly(connection: psycopg.Connection, place: Place, *rest: object) -> Iterator[int]:
        copies.append(str(rest[-1]))
        begun.set()
        return original(connection, place, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(bringing_back, "copied_rows", copy_slowly)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: len(_read_events(cluster.pk)), range(4)))
    assert begun.is_set()
    assert found == [len(removed["event"])] * 4
    assert copies.count("event") == len(
        [piece for piece in catalogue.pieces(connection, cluster.pk) if piece.kind == "event"]
    )
    assert rows_of(connection, cluster.pk)["event"] == removed["event"]


def test_rows_that_somebody_needed_lately_stay(
    connection: psycopg.Connection,
    cluster: Cluster,
    place: Place,
    removed: dict[str, list[tuple[object, ...]]],
) -> None:
    _read_events(cluster.pk)
    needed.forget()
    assert remove_rows(cluster.pk, place, Pace()) == 0
    assert rows_of(connection, cluster.pk)["event"] == removed["event"]
    connection.execute("UPDATE archived_rows SET used = now() - interval '59 minutes'")
    assert remove_rows(cluster.pk, place, Pace()) == 0
    connection.execute("UPDATE archived_rows SET used = now() - interval '61 minutes'")
    needed.forget()
    with connect_reader() as reader, snapshot(reader):
        # a reader that is there before keeps what it sees, and one that comes meanwhile keeps the rows
        assert len(events(reader, cluster.pk, *ALL_TIME)) == len(removed["event"])
    assert remove_rows(cluster.pk, place, Pace()) == 0


def test_rows_leave_sooner_where_too_many_are_in_the_tables(
    connection: psycopg.Connection,
    cluster: Cluster,
    settings: LazySettings,
    removed: dict[str, list[tuple[object, ...]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.ARCHIVE_REMOVES_ROWS_AFTER = timedelta(days=1)
    bring_back(cluster.pk, KINDS)
    connection.execute("UPDATE archived_rows SET used = now() - interval '11 minutes'")
    assert archive_round().removed == 0
    monkeypatch.setattr(presence, "MOST_ROWS", 1)
    assert archive_round().removed == sum(map(len, removed.values()))
    assert not any(rows_of(connection, cluster.pk).values())


def test_rows_leave_only_where_a_setting_says_when(
    connection: psycopg.Connection, cluster: Cluster, settings: LazySettings, folder: Path
) -> None:
    before = rows_of(connection, cluster.pk)
    archive_round()
    assert archive_round().removed == 0
    assert not presence.is_any_listed(connection)
    settings.ARCHIVE_REMOVES_ROWS_AFTER = timedelta(days=36_500)
    assert archive_round().removed == 0
    assert not presence.is_any_listed(connection)
    settings.ARCHIVE_REMOVES_ROWS_AFTER = timedelta(days=1)
    assert archive_round().removed == 0, "nobody may need them from now on for an hour"
    assert presence.is_any_listed(connection)
    connection.execute("UPDATE archived_rows SET used = now() - interval '2 hours'")
    assert archive_round().removed == sum(map(len, before.values()))


def test_rows_that_the_files_do_not_give_back_stay(
    connection: psycopg.Connection, cluster: Cluster, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archive_round()
    before = rows_of(connection, cluster.pk)
    connection.execute("UPDATE log SET message = 'other' WHERE cluster_id = %s", [cluster.pk])
    [event] = [piece for piece in catalogue.pieces(connection, cluster.pk) if piece.kind == "event"]
    (folder / event.path).write_bytes((folder / event.path).read_bytes()[:-1] + b"!")
    remove_unused(connection, cluster.pk)
    found = rows_of(connection, cluster.pk)
    assert {kind for kind in KINDS if found[kind]} == {"event", "log"}
    assert found["event"] == before["event"]
    assert "the file has others" in caplog.text
    assert "its checksum differs" in caplog.text


def test_a_file_of_an_earlier_version_is_written_again_before_its_rows_leave(
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(columns, "_shows", lambda kind, group: True)
    columns.file_columns.cache_clear()
    archive_round()
    monkeypatch.undo()
    columns.file_columns.cache_clear()
    assert "depends_on_group" not in archive.table("dependency", cluster.pk).column_names
    remove_unused(connection, cluster.pk)
    assert set(KINDS) - set(presence.removed_kinds(connection, cluster.pk)) >= {"dependency"}
    archive_round()
    assert "depends_on_group" in archive.table("dependency", cluster.pk).column_names
    remove_unused(connection, cluster.pk)
    assert "dependency" in presence.removed_kinds(connection, cluster.pk)


def test_records_that_come_while_files_are_compared_do_not_leave_with_the_rows(
    connection: psycopg.Connection, cluster: Cluster, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive_round()
    original = departure._gives_back_its_rows

    def write_meanwhile(
        connection: psycopg.Connection, place: Place, piece: catalogue.Piece, pace: Pace
    ) -> bool:
        is_same = original(connection, place, piece, pace)
        if piece.kind == "event":
            _write_late(connection, cluster)
        return is_same

    monkeypatch.setattr(departure, "_gives_back_its_rows", write_meanwhile)
    remove_unused(connection, cluster.pk)
    assert "event" not in presence.removed_kinds(connection, cluster.pk)
    assert "client-added" in _read_events(cluster.pk)


def _write_late(connection: psycopg.Connection, cluster: Cluster) -> None:
    with Writer() as writer:
        writer.write(
            Batch.of(
                cluster.pk,
                events=[Event(START + 11, "client-added")],
                samples=[Sample(Series("m"), START + 11, 1.0)],
                head=next_head(connection, cluster),
            )
        )


def test_late_records_of_archived_kinds_are_shown_and_folded_in(
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    removed: dict[str, list[tuple[object, ...]]],
) -> None:
    before = archive.paths(cluster.pk)
    _write_late(connection, cluster)
    assert sorted(presence.removed_kinds(connection, cluster.pk)) == sorted(KINDS)
    assert waiting_clusters(connection) == [cluster.pk]
    archive_round()
    assert waiting_clusters(connection) == []
    after = archive.paths(cluster.pk)
    assert {kind for kind in KINDS if before[kind] != after[kind]} == {"event", "sample"}
    assert archive.table("event", cluster.pk).num_rows == len(removed["event"]) + 1
    assert archive.faults(cluster.pk) == []
    remove_unused(connection, cluster.pk)
    assert not any(rows_of(connection, cluster.pk).values())
    assert sorted(_read_events(cluster.pk)).count("client-added") == 1
    assert len(_read_events(cluster.pk)) == len(removed["event"]) + 1


def test_an_agent_that_reports_late_replaces_archived_records_that_were_scraped(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, folder: Path
) -> None:
    connection.execute("DELETE FROM agent WHERE cluster_id = %s", [cluster.pk])
    archive_round()
    remove_unused(connection, cluster.pk)
    head = Head(uuid.uuid4().hex, 1, cluster.scheduler_id, "etl", "", START - 100, START - 90, STOP + 300)
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, events=[Event(START + 5, "restarted")], head=head))
    assert {"span", "event", "sample"}.isdisjoint(presence.removed_kinds(connection, cluster.pk))
    found = rows_of(connection, cluster.pk)
    assert found["span"] == []
    assert "restarted" in _read_events(cluster.pk)
    archive_round()
    assert archive.faults(cluster.pk) == []
    assert "span" not in archive.paths(cluster.pk)


def test_writing_all_files_again_keeps_those_of_removed_rows(
    connection: psycopg.Connection,
    cluster: Cluster,
    place: Place,
    archive: Archive,
    removed: dict[str, list[tuple[object, ...]]],
) -> None:
    _read_events(cluster.pk)
    before = archive.paths(cluster.pk)
    archive_again(place)
    archive_round()
    after = archive.paths(cluster.pk)
    assert {kind for kind in KINDS if before[kind] == after[kind]} == set(KINDS) - {"event"}
    assert archive.faults(cluster.pk) == []
    bring_back(cluster.pk, KINDS)
    assert rows_of(connection, cluster.pk) == removed


def test_a_deleted_clusters_removed_rows_go_with_their_files(
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    removed: dict[str, list[tuple[object, ...]]],
) -> None:
    assert count_rows([cluster.pk], 60).records == sum(map(len, removed.values()))
    delete_cluster(cluster.pk)
    assert archive.files() == []
    assert not presence.is_any_listed(connection)
    bring_back(cluster.pk, KINDS)
    assert not any(rows_of(connection, cluster.pk).values())


def _two_more_days(cluster: int) -> None:
    times = [START - hours * 3600 for hours in range(24, 72)]
    samples = [Sample(Series("m"), time, time) for time in times]
    with Writer() as writer:
        writer.write(Batch.of(cluster, samples=samples, events=[Event(time, "restarted") for time in times]))


def test_retention_drops_files_of_removed_rows(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, folder: Path
) -> None:
    _two_more_days(cluster.pk)
    archive_round()
    remove_unused(connection, cluster.pk)
    first_day = from_seconds((START // DAY) * DAY)
    now = first_day + timedelta(days=30)
    assert count_records_before({cluster.pk: first_day}, 60)[0] > 0
    apply_retention({cluster.pk: 30}, 30, now)
    assert count_records_before({cluster.pk: first_day}, 60)[0] == 0
    archive_round()
    assert {start for kind, start in archive.rows(cluster.pk) if kind in KINDS} == {first_day}
    back = set(KINDS) - set(presence.removed_kinds(connection, cluster.pk))
    assert back == {"span", "transition"}, "what progress is counted from"
    assert archive.faults(cluster.pk) == []
    assert archive.files() == sorted(path for paths in archive.paths(cluster.pk).values() for path in paths)


def test_retention_keeps_windows_of_removed_rows_to_the_row(
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _two_more_days(cluster.pk)
    archive_round()
    remove_unused(connection, cluster.pk)
    kept = RetainedWindow(cluster.pk, from_seconds(START - 50 * 3600), from_seconds(START - 48 * 3600))
    now = from_seconds((START // DAY) * DAY) + timedelta(days=7)
    apply_retention({cluster.pk: 7}, 30, now, [kept])
    archive_round()
    times = archive.table("sample", cluster.pk).column("value").to_pylist()
    assert sorted(time for time in times if time < START // DAY * DAY) == [
        START - 50 * 3600,
        START - 49 * 3600,
    ]
    assert archive.faults(cluster.pk) == []
    remove_unused(connection, cluster.pk)
    paths = archive.paths(cluster.pk)
    apply_retention({cluster.pk: 7}, 30, now, [kept])
    remove_unused(connection, cluster.pk)
    brought: list[object] = []
    monkeypatch.setattr(bringing_back, "copied_rows", lambda *args: brought.append(args))
    apply_retention({cluster.pk: 7}, 30, now, [kept])
    assert brought == [], "what is filtered is not filtered again each hour"
    assert {kind: paths[kind] for kind in KINDS} == {kind: archive.paths(cluster.pk)[kind] for kind in KINDS}


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
        _read_events(cluster.pk)
    _write_late(connection, cluster)
    kept = RetainedWindow(cluster.pk, from_seconds(START), from_seconds(STOP))
    apply_retention({cluster.pk: 1}, 30, from_seconds(STOP) + timedelta(days=20), [kept])
    settings.ARCHIVE = setting
    if away == "folder":
        folder.with_name("away").rename(folder)
    assert len(_read_events(cluster.pk)) == len(removed["event"]) + 1


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
