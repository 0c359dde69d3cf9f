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
from observatory.store.archive import catalogue, needed, presence
from observatory.store.archive.files import columns
from observatory.store.archive.place import Place
from observatory.store.archive.removal import departure
from observatory.store.archive.removal.departure import remove_rows
from observatory.store.archive.restoring import bringing_back
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds.pace import Pace
from observatory.store.archive.rounds.round import archive_again, archive_round
from observatory.store.archive.rounds.waiting import waiting_clusters
from observatory.store.connection import connect_reader
from observatory.store.engines import choose
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.timeline import events, snapshot
from observatory.store.schema.time_series import table_of
from observatory.wire.head import Head
from observatory.wire.records import Event
from tests.exchange.everything import START, STOP
from tests.store.archive.changes_of_rows import ALL_TIME, KINDS, read_events, write_late
from tests.store.archive.conftest import Archive, compress, remove_unused, rows_of


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


def test_indexes_and_statistics_know_rows_that_came_back(
    connection: psycopg.Connection, cluster: Cluster, folder: Path
) -> None:
    days = {
        time.date() for (time,) in connection.execute("SELECT DISTINCT date_trunc('day', start) FROM span")
    }
    partitions = choose(connection).partitions(connection, table_of("span"), days)
    assert len(partitions) == len(days)
    archive_round()
    remove_unused(connection, cluster.pk)
    connection.execute("ANALYZE span")
    bring_back(cluster.pk, ["span"])
    for partition in partitions:
        known = connection.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [partition])
        assert known.fetchone() == connection.execute(f"SELECT count(*) FROM {partition}").fetchone()
        left = connection.execute(
            """SELECT sum(brin_summarize_new_values(indexrelid::regclass)) FROM pg_index
               JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
               WHERE indrelid = %s::regclass AND amname = 'brin'""",
            [partition],
        )
        assert left.fetchone() == (0,)


def test_only_the_kinds_that_a_read_needs_come_back(
    connection: psycopg.Connection, cluster: Cluster, removed: dict[str, list[tuple[object, ...]]]
) -> None:
    assert len(read_events(cluster.pk)) == len(removed["event"])
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
        found = list(pool.map(lambda _: len(read_events(cluster.pk)), range(4)))
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
    read_events(cluster.pk)
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
            write_late(connection, cluster)
        return is_same

    monkeypatch.setattr(departure, "_gives_back_its_rows", write_meanwhile)
    remove_unused(connection, cluster.pk)
    assert "event" not in presence.removed_kinds(connection, cluster.pk)
    assert "client-added" in read_events(cluster.pk)


def test_late_records_of_archived_kinds_are_shown_and_folded_in(
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    removed: dict[str, list[tuple[object, ...]]],
) -> None:
    before = archive.paths(cluster.pk)
    write_late(connection, cluster)
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
    assert sorted(read_events(cluster.pk)).count("client-added") == 1
    assert len(read_events(cluster.pk)) == len(removed["event"]) + 1


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
    assert "restarted" in read_events(cluster.pk)
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
    read_events(cluster.pk)
    before = archive.paths(cluster.pk)
    archive_again(place)
    archive_round()
    after = archive.paths(cluster.pk)
    assert {kind for kind in KINDS if before[kind] == after[kind]} == set(KINDS) - {"event"}
    assert archive.faults(cluster.pk) == []
    bring_back(cluster.pk, KINDS)
    assert rows_of(connection, cluster.pk) == removed
