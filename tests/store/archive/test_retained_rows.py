"""Retention of rows that are in files alone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.store.archive import presence
from observatory.store.archive.restoring import bringing_back
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds.round import archive_round
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retained_windows import RetainedWindow
from observatory.store.maintenance.retention import apply_retention, delete_cluster
from observatory.store.queries.cluster_rows import count_records_before, count_rows
from observatory.store.times import from_seconds
from observatory.wire.records import Event, Sample, Series
from tests.exchange.everything import START
from tests.store.archive.changes_of_rows import DAY, KINDS
from tests.store.archive.conftest import Archive, remove_unused, rows_of


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
