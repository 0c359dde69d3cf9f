"""Scans find all there is or say what is missing, whatever happens to the files meanwhile."""

from __future__ import annotations

import os
import sys
import threading
import uuid
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from html import unescape
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

import psycopg
import pyarrow.parquet as pq
import pytest

from observatory.clusters.deletion import deletions
from observatory.clusters.deletion.kinds.project import DeletableProject
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.models import Cluster
from observatory.replay.logs.counts import log_counts
from observatory.replay.logs.search import Wanted, listed_lines
from observatory.replay.scope import Scope
from observatory.replay.task_history import task_history
from observatory.replay.task_search import Wanted as WantedTasks
from observatory.replay.task_search import search_tasks
from observatory.runs.tasks import enforce_retention
from observatory.store.archive import catalogue, needed, presence
from observatory.store.archive.errors import ArchiveError, DamagedFile
from observatory.store.archive.place import Place
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.scans import readers, scan
from observatory.store.connection import connect_reader, read_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retained_windows import RetainedWindow
from observatory.store.maintenance.retention import apply_retention, delete_cluster
from observatory.store.queries.logs import LogFilter
from observatory.store.queries.timeline import snapshot
from observatory.store.reading import archived_counts, scanning
from observatory.store.times import from_seconds
from observatory.wire.head import Head
from tests.store.archive.conftest import Archive, remove_unused, rows_of
from tests.store.archive.killing import killed
from tests.store.archive.long_history import FIRST, RARE, START, STEP, STEPS, key_of
from tests.support.projects import World

STOP = START + STEPS * STEP
AT_ONCE = 20
LATE = "a Needle that came late"
WORDS = ("Needle", "İstanbul", "ZeroDivisionError", "load-3")
"""of the cluster's records"""


Found = dict[str, Any]


def _lines(connection: psycopg.Connection, cluster: int) -> Any:
    return listed_lines(connection, cluster, LogFilter(), 10_000, goes_back=False)[0]


def _counts(connection: psycopg.Connection, cluster: int) -> Any:
    return [log_counts(connection, Scope(each), Wanted()) for each in Cluster.objects.filter(pk=cluster)]


def _story(connection: psycopg.Connection, cluster: int) -> Any:
    with snapshot(connection):
        return task_history(connection, cluster, key_of(RARE))


def _tasks(connection: psycopg.Connection, cluster: int, wanted: WantedTasks) -> Any:
    return search_tasks(connection, cluster, wanted, 1_000).tasks


SEARCHES: dict[str, Callable[[psycopg.Connection, int], Any]] = {
    "a word": lambda reader, cluster: listed_lines(reader, cluster, LogFilter(text="needle"), 1_000)[0],
    "lines": _lines,
    "counts": _counts,
    "tasks": lambda reader, cluster: _tasks(reader, cluster, WantedTasks("load-3")),
    "not computed": lambda reader, cluster: _tasks(
        reader, cluster, WantedTasks("load", only_not_computed=True)
    ),
    "a story": _story,
}


def _search(cluster: int, names: Collection[str] = tuple(SEARCHES)) -> Found:
    needed.forget()  # as a process that has not asked in the last minute
    with connect_reader() as reader:
        return {name: SEARCHES[name](reader, cluster) for name in names}


@pytest.fixture
def archived(connection: psycopg.Connection, recorded: Cluster, folder: Path) -> Cluster:
    archive_round()
    assert remove_unused(connection, recorded.pk) > 0
    return recorded


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


def _record_late(cluster: int) -> None:
    """A log line and an edge of the graph."""
    rows = {
        "log": [(START + 5, "worker", FIRST, 20, "etl", LATE, "", 7)],
        "dependency": [(START + 5, "c1", key_of(RARE), key_of(0))],
    }
    head = Head(uuid.uuid4().hex, 1, "Scheduler-1", "etl", "", START - 10, START - 5, STOP + 20)
    with Writer() as writer:
        writer.write(Batch.of(cluster, rows=rows, head=head))


def _replace_files(cluster: int) -> None:
    """All files get others in their place."""
    _record_late(cluster)
    archive_round()


def _expire(cluster: int, retained: list[RetainedWindow] | None = None) -> None:
    """What is not retained is past its retention; its files go."""
    apply_retention({cluster: 1}, 30, from_seconds(STOP) + timedelta(days=20), retained or [])
    archive_round()


@pytest.mark.parametrize("name", SEARCHES)
def test_files_that_are_replaced_in_the_middle_of_a_search_cost_no_hit(
    name: str, connection: psycopg.Connection, archived: Cluster
) -> None:
    before = _search(archived.pk, [name])
    with _once_files_are_chosen(lambda: _replace_files(archived.pk)) as done:
        found = _search(archived.pk, [name])
    assert done
    after = _search(archived.pk, [name])
    assert found in (before, after)
    assert after != before or name in ("tasks", "not computed")


@pytest.mark.parametrize("lost", ["deleted", "expired"])
def test_what_is_deleted_in_the_middle_of_a_search_is_no_error(
    lost: str, connection: psycopg.Connection, archived: Cluster, archive: Archive
) -> None:
    act = {"deleted": lambda: delete_cluster(archived.pk), "expired": lambda: _expire(archived.pk)}[lost]
    with _once_files_are_chosen(act) as done:
        found = _search(archived.pk)
    assert done
    assert not any(word in repr(found) for word in WORDS)
    assert "log" not in archive.paths(archived.pk)
    assert not any(rows_of(connection, archived.pk).values())


def _paths(connection: psycopg.Connection, cluster: int) -> dict[str, str]:
    """Pages that search, with a word that they show."""
    with connect_reader() as reader, snapshot(reader):
        [error, *_] = task_history(reader, cluster, key_of(RARE)).errors
    return {
        "/search?q=load-3": "load-3",
        f"/clusters/{cluster}/tasks/?q=load-3": "load-3",
        f"/clusters/{cluster}/tasks/?key={quote(key_of(RARE))}": "ZeroDivisionError",
        f"/clusters/{cluster}/errors/{error.id}": "ZeroDivisionError",
        f"/clusters/{cluster}/logs/?text=needle": "A Needle in hay",
        f"/api/v1/clusters/{cluster}/logs?match=needle": "A Needle in hay",
        "/api/v1/search?q=load-3": "load-3",
    }


@pytest.mark.parametrize("place", range(7))
def test_pages_of_a_cluster_that_is_deleted_meanwhile_are_no_errors(
    place: int, connection: psycopg.Connection, archived: Cluster, world: World
) -> None:
    path, _ = list(_paths(connection, archived.pk).items())[place]
    with _once_files_are_chosen(lambda: delete_cluster(archived.pk)) as done:
        answer = world.client("owner").get(path, follow=True)
    assert done
    assert answer.status_code in (200, 404)
    shown = unescape(answer.content.decode())
    assert not any(word in shown for word in (key_of(3), "A Needle in hay", "ZeroDivisionError"))


def test_nothing_of_a_deleted_project_is_found(
    connection: psycopg.Connection, archived: Cluster, world: World, archive: Archive
) -> None:
    paths = _paths(connection, archived.pk)
    kind = DeletableProject()
    deletion = deletions.note(kind, world.alpha, world.people["owner"], Deletion.Door.PAGE)
    deletions.perform(deletion)
    assert archive.files() == []
    for path, word in paths.items():
        for role in ("owner", "outsider", "superuser"):
            answer = world.client(role).get(path, follow=True)
            assert answer.status_code in (200, 404), path
            assert word not in unescape(answer.content.decode()).replace("load-3", "", 9), path
    assert not any(word in repr(_search(archived.pk)) for word in WORDS)


def test_searches_find_what_a_pin_retains_and_nothing_else(
    connection: psycopg.Connection, archived: Cluster
) -> None:
    kept = RetainedWindow(archived.pk, from_seconds(START + 40 * STEP), from_seconds(START + 60 * STEP))
    _expire(archived.pk, [kept])
    in_tables = _search(archived.pk)
    archive_round()
    assert remove_unused(connection, archived.pk) > 0
    removed = presence.removed_kinds(connection, archived.pk)
    assert "log" in removed
    found = _search(archived.pk)
    assert found == in_tables
    assert found["lines"]
    assert found["tasks"]
    assert all(kept.start <= line.time < kept.stop for line in found["lines"])
    assert presence.removed_kinds(connection, archived.pk) == removed


def test_searches_find_what_a_quota_leaves(connection: psycopg.Connection, archived: Cluster) -> None:
    before = _search(archived.pk)
    project = archived.project
    project.retention_days, project.quota_gib = 3_650, 1e-6
    project.save()
    enforce_retention()
    archive_round()
    remove_unused(connection, archived.pk)
    found = _search(archived.pk)
    times = [line.time for line in found["lines"]]
    assert len(times) < len(before["lines"])
    oldest = max((line.time for line in before["lines"]), default=None) if not times else min(times)
    assert found["lines"] == [line for line in before["lines"] if times and line.time >= oldest]


def test_pages_say_that_a_file_is_damaged(
    connection: psycopg.Connection, archived: Cluster, world: World, archive: Archive, folder: Path
) -> None:
    paths = _paths(connection, archived.pk)
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
    expected = _search(archived.pk)
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
            found = _search(archived.pk)
        except DamagedFile:
            noticed += 1
        else:
            assert found == expected
    assert noticed > 4


def test_a_page_of_lines_opens_the_file_that_has_them(
    connection: psycopg.Connection, archived: Cluster, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    original = Place.open

    def open_file(self: Place, path: str) -> Any:
        opened.append(path)
        return original(self, path)

    monkeypatch.setattr(Place, "open", open_file)
    assert len(archive.paths(archived.pk)["log"]) > 4
    with connect_reader() as reader:
        for goes_back in (True, False):
            opened.clear()
            assert len(listed_lines(reader, archived.pk, LogFilter(), 10, goes_back=goes_back)[0]) == 10
            assert len(opened) <= 2


def test_many_searches_at_once_find_the_same_and_read_few_row_groups_at_a_time(
    connection: psycopg.Connection, archived: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _search(archived.pk, ["lines"])["lines"]
    lock, reading, most = Lock(), 0, 0
    original = scan.matching_rows

    def matching_rows(*args: Any) -> Any:
        nonlocal reading, most
        with lock:
            reading += 1
            most = max(most, reading)
        try:
            return original(*args)
        finally:
            with lock:
                reading -= 1

    def search(_: int) -> Any:
        with read_connection() as reader:
            return _lines(reader, archived.pk)

    monkeypatch.setattr(scan, "matching_rows", matching_rows)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(search, range(AT_ONCE)))
    assert all(each == expected for each in found)
    assert 1 <= most <= readers.THREADS


@pytest.mark.skipif(sys.platform != "linux", reason="its threads have priorities of their own")
def test_threads_of_scans_let_others_first(archived: Cluster) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    _search(archived.pk, ["lines"])
    of_scans = [thread.native_id for thread in threading.enumerate() if thread.name.startswith("scan")]
    assert of_scans
    assert {os.getpriority(os.PRIO_PROCESS, id) for id in of_scans if id} == {readers.NICE}
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before


def test_rows_that_take_too_much_memory_are_brought_back(
    connection: psycopg.Connection, archived: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _search(archived.pk, ["a story"])
    monkeypatch.setattr(scan, "MOST_BYTES", 100)
    assert _search(archived.pk, ["a story"]) == expected
    assert "transition" not in presence.removed_kinds(connection, archived.pk)


def test_a_search_goes_on_after_a_kind_was_brought_back_for_it(
    connection: psycopg.Connection, archived: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _search(archived.pk)
    monkeypatch.setattr(scan, "all_rows", lambda *args: None)
    assert _search(archived.pk) == expected


def test_a_query_never_misses_another_clusters_records_in_a_scan(
    connection: psycopg.Connection, archived: Cluster
) -> None:
    query = "SELECT count(*) FROM log WHERE cluster_id = %(cluster)s"
    with (
        connect_reader() as reader,
        scanning.scan(reader, archived.pk, "log", scanning.Condition(), goes_back=True) as cover,
    ):
        cover(from_seconds(START), from_seconds(STOP))
        with pytest.raises(LookupError, match="a scan hides other clusters' records of log"):
            reader.execute(query, {"cluster": archived.pk + 1})


def test_a_process_that_is_killed_in_a_scan_leaves_nothing(
    connection: psycopg.Connection, archived: Cluster, folder: Path, archive: Archive
) -> None:
    expected, files = _search(archived.pk), archive.files()
    for operations in (0, 3, 8):
        of = ((Place, "open"), (scan.Shadow, "fill"))
        assert killed(lambda: _search(archived.pk), of, operations)
    assert _search(archived.pk) == expected
    assert archive.files() == files
    waiting = connection.execute(
        """SELECT count(*) FROM pg_stat_activity
           WHERE state = 'idle in transaction' AND datname = current_database()"""
    ).fetchone()
    assert waiting == (0,)


def test_searches_find_all_whenever_archiving_was_killed(
    connection: psycopg.Connection, recorded: Cluster, folder: Path
) -> None:
    expected = _search(recorded.pk)
    archiving = ((Place, "create"), (Place, "finish"), (catalogue, "enter"), (catalogue, "note_archived"))
    leaving = ((Place, "checksum"), (presence, "note_removed"))
    for work, of, first in (
        (archive_round, archiving, 5),
        (lambda: remove_unused(connection, recorded.pk), leaving, 2),
    ):
        operations = first
        while killed(work, of, operations):
            assert _search(recorded.pk) == expected
            operations *= 3
    assert presence.removed_kinds(connection, recorded.pk)
    assert _search(recorded.pk) == expected


def test_an_archive_that_is_away_is_said_to_be_away(archived: Cluster, world: World, folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    client = world.client("owner")
    client.raise_request_exception = False
    answer = client.get(f"/clusters/{archived.pk}/logs/?text=needle")
    assert answer.status_code == 503
    assert "The archive is away" in answer.content.decode()
    assert "were not searched" in client.get("/search?q=load-3", follow=True).content.decode()
    with pytest.raises(ArchiveError, match="Mount the folder"):
        _search(archived.pk)
