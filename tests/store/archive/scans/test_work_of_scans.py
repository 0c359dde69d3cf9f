"""What scans open, hold in memory and leave to others."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.logs.search import listed_lines
from observatory.store.archive import presence
from observatory.store.archive.place import Place
from observatory.store.archive.scans import readers, scan
from observatory.store.connection import connect_reader, read_connection
from observatory.store.queries.logs import LogFilter
from observatory.store.reading import scanning
from observatory.store.times import from_seconds
from tests.store.archive.conftest import Archive
from tests.store.archive.long_history import START
from tests.store.archive.scans.searches import STOP, log_lines, search

AT_ONCE = 20


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
    expected = search(archived.pk, ["lines"])["lines"]
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

    def read_lines(_: int) -> Any:
        with read_connection() as reader:
            return log_lines(reader, archived.pk)

    monkeypatch.setattr(scan, "matching_rows", matching_rows)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(read_lines, range(AT_ONCE)))
    assert all(each == expected for each in found)
    assert 1 <= most <= readers.THREADS


@pytest.mark.skipif(sys.platform != "linux", reason="its threads have priorities of their own")
def test_threads_of_scans_let_others_first(archived: Cluster) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    search(archived.pk, ["lines"])
    of_scans = [thread.native_id for thread in threading.enumerate() if thread.name.startswith("scan")]
    assert of_scans
    assert {os.getpriority(os.PRIO_PROCESS, id) for id in of_scans if id} == {readers.NICE}
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before


def test_rows_that_take_too_much_memory_are_brought_back(
    connection: psycopg.Connection, archived: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = search(archived.pk, ["a story"])
    monkeypatch.setattr(scan, "MOST_BYTES", 100)
    assert search(archived.pk, ["a story"]) == expected
    assert "transition" not in presence.removed_kinds(connection, archived.pk)


def test_a_search_goes_on_after_a_kind_was_brought_back_for_it(
    connection: psycopg.Connection, archived: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = search(archived.pk)
    monkeypatch.setattr(scan, "all_rows", lambda *args: None)
    assert search(archived.pk) == expected


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
