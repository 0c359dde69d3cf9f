"""Long scans on a real Dask cluster give the same answers, also while it fails."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from distributed import Client, LocalCluster
from django.conf import LazySettings

from observatory.alerts.evaluation.back_test import back_test
from observatory.clusters.models import Cluster
from observatory.replay.logs.counts import log_counts
from observatory.replay.logs.search import listed_lines
from observatory.replay.scope import Scope
from observatory.replay.task_search import search_tasks
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.scans import on_dask, readers
from observatory.store.connection import connect_reader
from observatory.store.queries.logs import LogFilter
from tests.store.archive.conftest import Archive, remove_unused
from tests.store.archive.dask_clusters import QUIET, dask_cluster, scanned_there
from tests.store.archive.long_history import START, STEP, STEPS
from tests.store.archive.scans.reads import FILTERS, LOGS, READS, RULES, TASKS, Read


@pytest.fixture(scope="module")
def dask() -> Iterator[LocalCluster]:
    with dask_cluster() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def scans(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each scan is long enough for a cluster, of which this process knows nothing yet."""
    monkeypatch.setattr(readers, "MANY_ROWS", 1)
    monkeypatch.setattr(on_dask, "ANSWERS_WITHIN", 60.0)  # a slow machine is to pass, too
    monkeypatch.setattr(on_dask, "LONGEST", 300.0)
    on_dask.disconnect()
    yield
    on_dask.disconnect()


def _words(connection: psycopg.Connection, cluster: Cluster) -> Any:
    return {
        (name, goes_back): listed_lines(connection, cluster.pk, filters, 10_000, goes_back=goes_back)
        for name, filters in FILTERS.items()
        for goes_back in (True, False)
    }


def _counts(connection: psycopg.Connection, cluster: Cluster) -> Any:
    return [log_counts(connection, Scope(cluster), LOGS[name]) for name in ("all", "a word", "a level")]


def _tasks(connection: psycopg.Connection, cluster: Cluster) -> Any:
    return [search_tasks(connection, cluster.pk, wanted, 1_000) for wanted in TASKS.values()]


def _back_test(connection: psycopg.Connection, cluster: Cluster) -> Any:
    found = back_test(cluster, RULES[0], START, START + STEPS * STEP)
    assert found.durations
    return found.durations, found.too_short, [result.firings for result in found.results]


SEARCHES = {
    "words": _words,
    "counts": _counts,
    "tasks": _tasks,
    "an error": READS["an error"],
    "a back-test": _back_test,
}


@pytest.mark.parametrize("read", SEARCHES.values(), ids=SEARCHES)
def test_workers_find_what_queries_of_the_tables_do(
    read: Read,
    connection: psycopg.Connection,
    recorded: Cluster,
    folder: Path,
    dask: LocalCluster,
    settings: LazySettings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with connect_reader() as reader:
        expected = read(reader, recorded)
        archive_round(seconds=3_600)
        assert remove_unused(connection, recorded.pk) > 0
        settings.SCAN_SCHEDULER = dask.scheduler_address
        before = scanned_there(dask)
        assert read(reader, recorded) == expected
        assert scanned_there(dask) > before
    assert "scans run here" not in caplog.text


def test_short_scans_are_made_here(
    connection: psycopg.Connection,
    archived: Cluster,
    dask: LocalCluster,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.SCAN_SCHEDULER = dask.scheduler_address
    monkeypatch.setattr(readers, "MANY_ROWS", 1_000_000)
    before = scanned_there(dask)
    assert lines(archived)
    assert scanned_there(dask) == before


@pytest.fixture
def archived(connection: psycopg.Connection, recorded: Cluster, folder: Path) -> Cluster:
    archive_round(seconds=3_600)
    assert remove_unused(connection, recorded.pk) > 0
    return recorded


def lines(cluster: Cluster) -> list[str]:
    with connect_reader() as reader:
        return [line.message for line in listed_lines(reader, cluster.pk, LogFilter(), 10_000)[0]]


def test_a_scheduler_that_is_away_is_named_and_scans_are_made_here(
    archived: Cluster,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = lines(archived)
    monkeypatch.setattr(on_dask, "ANSWERS_WITHIN", 0.5)
    settings.SCAN_SCHEDULER = "tcp://127.0.0.1:9"
    assert lines(archived) == expected
    assert lines(archived) == expected
    warnings = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert len([each for each in warnings if "tcp://127.0.0.1:9" in each and "does not answer" in each]) == 1


def test_a_cluster_without_workers_is_named(
    archived: Cluster, settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    expected = lines(archived)
    with LocalCluster(n_workers=0, **QUIET) as empty:
        settings.SCAN_SCHEDULER = empty.scheduler_address
        assert lines(archived) == expected
    assert "it has no workers" in caplog.text


def test_workers_of_another_release_are_named(
    archived: Cluster,
    dask: LocalCluster,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = lines(archived)
    monkeypatch.setattr(on_dask, "VERSIONS", {**on_dask.VERSIONS, "Observatory": "99.1"})
    settings.SCAN_SCHEDULER = dask.scheduler_address
    assert lines(archived) == expected
    [text] = [each.getMessage() for each in caplog.records if "scans run here" in each.getMessage()]
    assert "and the server Observatory 99.1" in text
    assert "tcp://127.0.0.1" in text.split("its worker ")[1]


def test_a_worker_that_can_not_read_the_folder_is_named(
    archived: Cluster,
    folder: Path,
    dask: LocalCluster,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = lines(archived)
    # this process's own folder, which is another one for workers
    monkeypatch.chdir(folder.parent)
    settings.ARCHIVE = f"/proc/self/cwd/{folder.name}"
    settings.SCAN_SCHEDULER = dask.scheduler_address
    assert lines(archived) == expected
    [text] = [each.getMessage() for each in caplog.records if "scans run here" in each.getMessage()]
    assert "is missing" in text
    assert "Have the archive at the same place there" in text


def test_a_missing_file_is_no_fault_of_the_workers(
    connection: psycopg.Connection,
    archived: Cluster,
    archive: Archive,
    folder: Path,
    dask: LocalCluster,
    settings: LazySettings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (folder / archive.paths(archived.pk)["log"][0]).unlink()
    settings.SCAN_SCHEDULER = dask.scheduler_address
    with pytest.raises(ArchiveError, match="missing"):
        lines(archived)
    assert "scans run here" not in caplog.text


def test_a_scan_goes_on_here_when_its_cluster_is_lost(
    archived: Cluster,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = lines(archived)
    with dask_cluster() as own, connect_reader() as reader:
        settings.SCAN_SCHEDULER = own.scheduler_address
        first, cursor = listed_lines(reader, archived.pk, LogFilter(), 30, deadline=0.0)
        assert scanned_there(own) > 0
        assert cursor is not None
        pages = [first]
        monkeypatch.setattr(on_dask, "LONGEST", 2.0)

        def close_later(workers: on_dask.DaskWorkers, *asked: object) -> object:
            own.close(timeout=1)
            return ask(workers, *asked)

        ask = on_dask.DaskWorkers.ask
        monkeypatch.setattr(on_dask.DaskWorkers, "ask", close_later)
        pages.append(listed_lines(reader, archived.pk, LogFilter(), 10_000, cursor)[0])
    assert [line.message for page in pages for line in page] == expected
    assert "scans run here" in caplog.text


def test_no_credentials_are_in_tasks_of_scans(
    archived: Cluster, folder: Path, dask: LocalCluster, settings: LazySettings
) -> None:
    from observatory.store.archive.catalogue import pieces
    from observatory.store.archive.place import required_place
    from observatory.store.connection import connect

    settings.ARCHIVE = "s3://key:secret-of-bucket@bucket/folder?endpoint_override=127.0.0.1:9&scheme=http"
    place = required_place()
    with connect() as connection:
        [piece, *_] = pieces(connection, archived.pk)
    assert "secret-of-bucket" not in repr((place, piece))
    with Client(dask) as client:  # but workers get them
        assert client.submit(lambda place: place.filesystem.type_name, place).result() == "s3"
