"""Scans find all there is or say what is missing, whatever happens to the files meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import psycopg
import pytest

from observatory.clusters.deletion import deletions
from observatory.clusters.deletion.kinds.project import DeletableProject
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.models import Cluster
from observatory.runs.tasks import enforce_retention
from observatory.store.archive import catalogue, presence
from observatory.store.archive.place import Place
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.scans import scan
from observatory.store.maintenance.retained_windows import RetainedWindow
from observatory.store.maintenance.retention import apply_retention, delete_cluster
from observatory.store.reading import archived_counts, scanning
from observatory.store.times import from_seconds
from tests.store.archive.conftest import Archive, remove_unused, rows_of
from tests.store.archive.killing import killed
from tests.store.archive.long_history import START, STEP, key_of
from tests.store.archive.scans.searches import SEARCHES, STOP, WORDS, pages, replace_files, search
from tests.support.projects import World


@contextmanager
def _once_files_are_chosen(act: Callable[[], object]) -> Iterator[list[str]]:
    """Do something after a scan has read the catalogue, before it opens a file; yields that it was done."""
    done: list[str] = []
    original = scanning.removed_kinds

    def removed_kinds(*args: Any) -> Any:
        found = original(*args)
        if found and not done:
            done.append("done")
            act()
        return found

    with pytest.MonkeyPatch.context() as patch:
        for module in (scanning, archived_counts):
            patch.setattr(module, "removed_kinds", removed_kinds)
        yield done


def _expire(cluster: int, retained: list[RetainedWindow] | None = None) -> None:
    """What is not retained is past its retention; its files go."""
    apply_retention({cluster: 1}, 30, from_seconds(STOP) + timedelta(days=20), retained or [])
    archive_round()


@pytest.mark.parametrize("name", SEARCHES)
def test_files_that_are_replaced_in_the_middle_of_a_search_cost_no_hit(
    name: str, connection: psycopg.Connection, archived: Cluster
) -> None:
    before = search(archived.pk, [name])
    with _once_files_are_chosen(lambda: replace_files(archived.pk)) as done:
        found = search(archived.pk, [name])
    assert done
    after = search(archived.pk, [name])
    assert found in (before, after)
    assert after != before or name in ("tasks", "not computed")


@pytest.mark.parametrize("lost", ["deleted", "expired"])
def test_what_is_deleted_in_the_middle_of_a_search_is_no_error(
    lost: str, connection: psycopg.Connection, archived: Cluster, archive: Archive
) -> None:
    act = {"deleted": lambda: delete_cluster(archived.pk), "expired": lambda: _expire(archived.pk)}[lost]
    with _once_files_are_chosen(act) as done:
        found = search(archived.pk)
    assert done
    assert not any(word in repr(found) for word in WORDS)
    assert "log" not in archive.paths(archived.pk)
    assert not any(rows_of(connection, archived.pk).values())


@pytest.mark.parametrize("place", range(7))
def test_pages_of_a_cluster_that_is_deleted_meanwhile_are_no_errors(
    place: int, connection: psycopg.Connection, archived: Cluster, world: World
) -> None:
    path, _ = list(pages(connection, archived.pk).items())[place]
    with _once_files_are_chosen(lambda: delete_cluster(archived.pk)) as done:
        answer = world.client("owner").get(path, follow=True)
    assert done
    assert answer.status_code in (200, 404)
    shown = unescape(answer.content.decode())
    assert not any(word in shown for word in (key_of(3), "A Needle in hay", "ZeroDivisionError"))


def test_nothing_of_a_deleted_project_is_found(
    connection: psycopg.Connection, archived: Cluster, world: World, archive: Archive
) -> None:
    paths = pages(connection, archived.pk)
    kind = DeletableProject()
    deletion = deletions.note(kind, world.alpha, world.people["owner"], Deletion.Door.PAGE)
    deletions.perform(deletion)
    assert archive.files() == []
    for path, word in paths.items():
        for role in ("owner", "outsider", "superuser"):
            answer = world.client(role).get(path, follow=True)
            assert answer.status_code in (200, 404), path
            assert word not in unescape(answer.content.decode()).replace("load-3", "", 9), path
    assert not any(word in repr(search(archived.pk)) for word in WORDS)


def test_searches_find_what_a_pin_retains_and_nothing_else(
    connection: psycopg.Connection, archived: Cluster
) -> None:
    kept = RetainedWindow(archived.pk, from_seconds(START + 40 * STEP), from_seconds(START + 60 * STEP))
    _expire(archived.pk, [kept])
    in_tables = search(archived.pk)
    archive_round()
    assert remove_unused(connection, archived.pk) > 0
    removed = presence.removed_kinds(connection, archived.pk)
    assert "log" in removed
    found = search(archived.pk)
    assert found == in_tables
    assert found["lines"]
    assert found["tasks"]
    assert all(kept.start <= line.time < kept.stop for line in found["lines"])
    assert presence.removed_kinds(connection, archived.pk) == removed


def test_searches_find_what_a_quota_leaves(connection: psycopg.Connection, archived: Cluster) -> None:
    before = search(archived.pk)
    project = archived.project
    project.retention_days, project.quota_gib = 3_650, 1e-6
    project.save()
    enforce_retention()
    archive_round()
    remove_unused(connection, archived.pk)
    found = search(archived.pk)
    times = [line.time for line in found["lines"]]
    assert len(times) < len(before["lines"])
    oldest = max((line.time for line in before["lines"]), default=None) if not times else min(times)
    assert found["lines"] == [line for line in before["lines"] if times and line.time >= oldest]


def test_a_process_that_is_killed_in_a_scan_leaves_nothing(
    connection: psycopg.Connection, archived: Cluster, folder: Path, archive: Archive
) -> None:
    expected, files = search(archived.pk), archive.files()
    for operations in (0, 3, 8):
        of = ((Place, "open"), (scan.Shadow, "fill"))
        assert killed(lambda: search(archived.pk), of, operations)
    assert search(archived.pk) == expected
    assert archive.files() == files
    waiting = connection.execute(
        """SELECT count(*) FROM pg_stat_activity
           WHERE state = 'idle in transaction' AND datname = current_database()"""
    ).fetchone()
    assert waiting == (0,)


def test_searches_find_all_whenever_archiving_was_killed(
    connection: psycopg.Connection, recorded: Cluster, folder: Path
) -> None:
    expected = search(recorded.pk)
    archiving = ((Place, "create"), (Place, "finish"), (catalogue, "enter"), (catalogue, "note_archived"))
    leaving = ((Place, "checksum"), (presence, "note_removed"))
    for work, of, first in (
        (archive_round, archiving, 5),
        (lambda: remove_unused(connection, recorded.pk), leaving, 2),
    ):
        operations = first
        while killed(work, of, operations):
            assert search(recorded.pk) == expected
            operations *= 3
    assert presence.removed_kinds(connection, recorded.pk)
    assert search(recorded.pk) == expected
