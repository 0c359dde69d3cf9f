"""Workers of another machine: processes with another environment, and maybe without the archive."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from distributed import Client
from django.conf import LazySettings

from observatory.clusters.models import Cluster
from observatory.replay.logs.search import listed_lines
from observatory.runtime.health.archive import scan_cluster
from observatory.store.archive.place import required_place
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.scans import on_dask, readers
from observatory.store.connection import connect_reader
from observatory.store.queries.logs import LogFilter
from tests.collect.dask_processes import free_port
from tests.store.archive.conftest import remove_unused
from tests.support.debian_servers import Process, listens
from tests.support.object_store import ENVIRONMENT, object_store

ROOT = str(Path(__file__).parents[4])
NTHREADS = (1, 3)


@contextmanager
def workers(folder: Path, **environment: str) -> Iterator[str]:
    """Two worker processes with so many threads, that know only these variables; yields their scheduler."""
    folder.mkdir(parents=True)
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    options = {"env": {"PATH": os.environ["PATH"], **environment}, "cwd": folder}
    dask = [sys.executable, "-m", "dask"]
    scheduler = [*dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    processes = [Process(scheduler, folder / "scheduler.log", lambda: listens(port), **options)]
    worker = [*dask, "worker", address, "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
    processes += [
        Process([*worker, "--nthreads", str(number)], folder / f"worker-{number}.log", **options)
        for number in NTHREADS
    ]
    try:
        processes[0].start()
        processes[0].wait_until_ready()
        for process in processes[1:]:
            process.start()
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(len(NTHREADS), timeout=180)
        yield address
    finally:
        for process in processes:
            process.kill()


@pytest.fixture(autouse=True)
def scans(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each scan is long enough for Dask, and a slow machine is to pass, too."""
    monkeypatch.setattr(readers, "MANY_ROWS", 1)
    monkeypatch.setattr(on_dask, "ANSWERS_WITHIN", 60.0)
    monkeypatch.setattr(on_dask, "LONGEST", 300.0)
    on_dask.disconnect()
    yield
    on_dask.disconnect()


def lines(cluster: Cluster) -> list[str]:
    with connect_reader() as reader:
        return [line.message for line in listed_lines(reader, cluster.pk, LogFilter(), 10_000)[0]]


def removed(connection: psycopg.Connection, cluster: Cluster) -> list[str]:
    """Have the cluster's lines in the archive alone; returns them."""
    found = lines(cluster)
    archive_round(seconds=3_600)
    assert remove_unused(connection, cluster.pk) > 0
    assert found
    return found


def test_workers_with_other_threads_and_no_settings_of_ours_read_the_folder(
    connection: psycopg.Connection,
    recorded: Cluster,
    folder: Path,
    tmp_path: Path,
    settings: LazySettings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = removed(connection, recorded)
    with workers(tmp_path / "dask", PYTHONPATH=ROOT) as address:
        settings.SCAN_SCHEDULER = address
        assert lines(recorded) == expected
        assert scan_cluster() == (True, f"{address}: workers: 2")
        reader = on_dask.dask_workers()
        assert reader is not None
        assert reader.ahead == 2 * sum(NTHREADS)
    assert "scans run here" not in caplog.text


def test_workers_without_the_folder_are_named_and_the_scan_is_made_here(
    connection: psycopg.Connection,
    recorded: Cluster,
    folder: Path,
    tmp_path: Path,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = removed(connection, recorded)
    # this process's own folder, which is another one for workers
    monkeypatch.chdir(folder.parent)
    settings.ARCHIVE = f"/proc/self/cwd/{folder.name}"
    with workers(tmp_path / "dask", PYTHONPATH=ROOT) as address:
        settings.SCAN_SCHEDULER = address
        assert lines(recorded) == expected
        works, text = scan_cluster()
    assert not works
    for each in (caplog.text, text):
        assert "its worker tcp://127.0.0.1:" in each
        assert "Have the archive at the same place there, with a right to read it" in each


def test_workers_without_observatory_are_named_and_the_scan_is_made_here(
    connection: psycopg.Connection,
    recorded: Cluster,
    folder: Path,
    tmp_path: Path,
    settings: LazySettings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = removed(connection, recorded)
    with workers(tmp_path / "dask") as address:
        settings.SCAN_SCHEDULER = address
        assert lines(recorded) == expected
        works, text = scan_cluster()
    assert not works
    for each in (caplog.text, text):
        assert "it has no Observatory" in each


def test_workers_without_the_credentials_of_a_bucket_are_named_and_the_scan_is_made_here(
    connection: psycopg.Connection,
    recorded: Cluster,
    tmp_path: Path,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "moto").mkdir()
    with object_store(tmp_path / "moto") as store:
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        settings.ARCHIVE = store.url
        required_place().check(is_used=False)
        expected = removed(connection, recorded)
        with store.asking_for_credentials() as credentials:
            for name, value in credentials.items():
                monkeypatch.setenv(name, value)
            assert lines(recorded) == expected
            region = {name: value for name, value in ENVIRONMENT.items() if name not in credentials}
            for known, is_read_there in ((region, False), ({**region, **credentials}, True)):
                caplog.clear()
                folder = tmp_path / f"dask-{is_read_there}"
                with workers(folder, PYTHONPATH=ROOT, **known) as address:
                    settings.SCAN_SCHEDULER = address
                    assert lines(recorded) == expected
                    works, text = scan_cluster()
                    on_dask.disconnect()
                assert works is is_read_there
                assert ("scans run here" not in caplog.text) is is_read_there
                if not is_read_there:
                    assert "its worker tcp://127.0.0.1:" in caplog.text
                    assert "credentials" in caplog.text
                    assert "credentials" in text
