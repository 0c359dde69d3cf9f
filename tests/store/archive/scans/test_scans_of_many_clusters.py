"""A search over many archived clusters reads their files in one pass, and searches those that have hits."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import psycopg
import pytest
from distributed import LocalCluster
from django.conf import LazySettings

from observatory.clusters.models import Cluster
from observatory.runs import search
from observatory.runs.search import FoundTasks, search_tasks_everywhere
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.scans import on_dask, portions, readers
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.reading import scanned_clusters
from observatory.store.reading.scanned_files import SCANNED_FILES, ScannedFiles
from observatory.wire.records import Action, Span
from tests.store.archive.conftest import Archive, next_head, remove_unused
from tests.store.archive.dask_clusters import dask_cluster, scanned_there
from tests.store.archive.many_clusters import ADDRESS, START, TASKS, key_of, write_clusters
from tests.support.projects import World

NUMBER = 12
TEXTS = (", 7, ", ", 3)", "), nowhere", key_of(4, 2), key_of(5, 0), ", 1")


@pytest.fixture(scope="module")
def dask() -> Iterator[LocalCluster]:
    with dask_cluster() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def budgets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A slow machine is to find all, too."""
    monkeypatch.setattr(search, "BUDGET", 1e9)
    monkeypatch.setattr(search, "CLUSTER_BUDGET", 1e9)
    monkeypatch.setattr(on_dask, "ANSWERS_WITHIN", 60.0)
    monkeypatch.setattr(on_dask, "LONGEST", 300.0)
    on_dask.disconnect()
    yield
    on_dask.disconnect()


@pytest.fixture
def clusters(connection: psycopg.Connection, world: World, folder: Path) -> list[Cluster]:
    return write_clusters(world.alpha, range(NUMBER))


def archive_all(connection: psycopg.Connection, clusters: list[Cluster]) -> None:
    archive_round(seconds=3_600)
    for cluster in clusters:
        assert remove_unused(connection, cluster.pk) > 0


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The clusters that are searched by themselves."""
    found: list[int] = []
    original = search.search_tasks

    def noted(connection: psycopg.Connection, cluster: int, *values: Any, **options: Any) -> Any:
        found.append(cluster)
        return original(connection, cluster, *values, **options)

    monkeypatch.setattr(search, "search_tasks", noted)
    return found


def found_in(world: World, text: str) -> list[Any]:
    """The tasks by cluster, of all pages."""
    found, skip = [], 0
    while True:
        page: FoundTasks = search_tasks_everywhere(world.people["viewer"], text, skip, search.BUDGET)
        assert not page.unreadable
        found += [(cluster.pk, tasks.tasks, tasks.older) for cluster, tasks in page.clusters]
        if page.following is None:
            return found
        skip = page.following


@pytest.mark.parametrize("most_files", [1, 5, 64])
@pytest.mark.parametrize("where", ["here", "on Dask"])
def test_one_pass_finds_what_searches_of_the_tables_do(
    where: str,
    most_files: int,
    connection: psycopg.Connection,
    world: World,
    clusters: list[Cluster],
    searched: list[int],
    dask: LocalCluster,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = [found_in(world, text) for text in TEXTS]
    assert [len(found) for found in expected] == [1, NUMBER, 0, 1, 1, NUMBER]
    archive_all(connection, clusters)
    monkeypatch.setattr(portions, "MOST_FILES", most_files)
    if where == "on Dask":
        monkeypatch.setattr(readers, "MANY_ROWS", 1)
        settings.SCAN_SCHEDULER = dask.scheduler_address
    before = scanned_there(dask)
    assert [found_in(world, text) for text in TEXTS] == expected
    assert (scanned_there(dask) > before) is (where == "on Dask")
    assert "scans run here" not in caplog.text
    searched.clear()
    assert found_in(world, TEXTS[0])
    archived = {cluster.pk for cluster in clusters}
    assert [cluster for cluster in searched if cluster in archived] == [clusters[7].pk]


def test_the_sum_of_the_rows_decides_where_files_are_read(
    connection: psycopg.Connection,
    world: World,
    clusters: list[Cluster],
    dask: LocalCluster,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    archive_all(connection, clusters)
    settings.SCAN_SCHEDULER = dask.scheduler_address
    rows = NUMBER * (TASKS + TASKS - 1)
    monkeypatch.setattr(readers, "MANY_ROWS", rows + 1)
    before = scanned_there(dask)
    assert not found_in(world, "), nowhere")
    assert scanned_there(dask) == before
    monkeypatch.setattr(readers, "MANY_ROWS", rows)
    assert not found_in(world, "), nowhere")
    assert scanned_there(dask) == before + 1  # all in one portion


def test_pages_of_a_search_go_on_where_the_one_before_stopped_and_tell_how_far_it_is(
    connection: psycopg.Connection, world: World, clusters: list[Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive_all(connection, clusters)
    monkeypatch.setattr(portions, "MOST_FILES", 4)
    monkeypatch.setattr(scanned_clusters, "AT_ONCE", 5)
    viewer, skip, pages = world.people["viewer"], 0, 0
    while skip is not None:
        files = ScannedFiles()
        context = copy_context()
        context.run(SCANNED_FILES.set, files)
        page = context.run(search_tasks_everywhere, viewer, "), nowhere", skip, 0.0)
        assert page.searched == skip + 1
        assert files.read <= 2 <= NUMBER * 2
        skip, pages = page.following, pages + 1
    assert pages == page.total


def test_late_records_of_an_archived_cluster_are_found(
    connection: psycopg.Connection, world: World, clusters: list[Cluster]
) -> None:
    archive_all(connection, clusters)
    late = clusters[2]
    times = (START + 230, START + 231)
    span = Span(ADDRESS, 1, "('load-late', 99)", "load", "load-late", Action.COMPUTE, *times)
    with Writer() as writer:
        writer.write(Batch.of(late.pk, spans=[span], head=next_head(connection, late)))
    assert [cluster for cluster, *_ in found_in(world, ", 99)")] == [late.pk]


def test_a_cluster_whose_file_is_gone_is_named_and_others_are_searched(
    connection: psycopg.Connection,
    world: World,
    clusters: list[Cluster],
    archive: Archive,
    folder: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    archive_all(connection, clusters)
    (folder / archive.paths(clusters[5].pk)["span"][0]).unlink()
    found = search_tasks_everywhere(world.people["viewer"], ", 7, ", 0, search.BUDGET)
    assert [cluster.pk for cluster, _ in found.clusters] == [clusters[7].pk]
    assert found.unreadable == [clusters[5]]


def test_nothing_of_others_projects_is_read(
    connection: psycopg.Connection, world: World, clusters: list[Cluster], searched: list[int]
) -> None:
    archive_all(connection, clusters)
    found = search_tasks_everywhere(world.people["outsider"], ", 7, ", 0, search.BUDGET)
    assert not found.clusters
    assert not set(searched) & {cluster.pk for cluster in clusters}
