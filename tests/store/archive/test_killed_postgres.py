"""PostgreSQL is killed at any moment of archiving, and while rows leave their tables or come back.

Rows are counted in the tables by SQL, and in the files by pyarrow alone.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import psutil
import psycopg
import pyarrow.parquet as pq
import pytest
from django.conf import LazySettings, settings
from django.db import connection as django_connection
from pytest_django import DjangoDbBlocker

from observatory.base.environment import run_dir
from observatory.clusters.models import Cluster, Project
from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.embedded.postgres import Postgres
from observatory.store.archive import catalogue, needed, presence
from observatory.store.archive.place import MARK, Place
from observatory.store.archive.removal import departure
from observatory.store.archive.restoring import bringing_back
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.rounds.waiting import waiting_clusters
from observatory.store.connection import close_pools, connect
from observatory.store.engines.plain import Plain
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.known_clusters import KNOWN_CLUSTERS
from observatory.store.ingest.writer import Writer
from observatory.wire.kinds import stored_kinds
from observatory.wire.records import Event, Sample, Series
from tests.exchange.everything import START, write_everything
from tests.store.archive.conftest import faults, remove_unused, rows_of
from tests.store.archive.killing import Operations, acting
from tests.support import services
from tests.support.first_start import copy_migrated
from tests.support.projects import make_cluster

pytestmark = pytest.mark.long
KINDS = [kind.name for kind in stored_kinds()]
MANY = 20_000
"""rows of a kind, in the middle of which PostgreSQL is killed"""
OF_ARCHIVING: Operations = (
    (Place, "create"),
    (Place, "finish"),
    (Place, "remove"),
    (catalogue, "begin"),
    (catalogue, "enter"),
    (catalogue, "forget"),
    (catalogue, "note_archived"),
)
OF_ROWS: Operations = (
    (Place, "checksum"),
    (Place, "open"),
    (bringing_back, "copied_rows"),
    (departure, "_digest"),
    (presence, "note_removed"),
    (presence, "note_brought_back"),
    (Plain, "allow_deletes"),
)
Rows = dict[str, list[tuple[object, ...]]]


class Server:
    """A PostgreSQL of its own, as durable as `up` has it, that can be killed and started again."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = DataFolder(data_dir, service_account())
        self.recorded = 0
        self.start()

    def start(self) -> None:
        self._process: subprocess.Popen[bytes] = services.launch(Postgres(self._folder))

    def kill(self) -> None:
        """SIGKILL for all of its processes."""
        processes = [psutil.Process(self._process.pid)]
        processes += processes[0].children(recursive=True)
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()

    def stop(self) -> None:
        services.end(self._process)

    def record(self, cluster: int) -> None:
        """A record of a cluster that lives; it is stored, or this fails."""
        with Writer() as writer:
            writer.write(Batch.of(cluster, events=[Event(START + self.recorded, "restarted")]))
        self.recorded += 1


@pytest.fixture
def server(django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Django and the store are connected to it."""
    parent = Path(tempfile.mkdtemp(prefix="observatory-killed-", dir="/tmp"))
    parent.chmod(0o755)  # PostgreSQL's account can reach it
    copy_migrated(parent / "data")
    server = Server(parent / "data")
    options = {**settings.DATABASES["default"]["OPTIONS"], "host": str(run_dir(parent / "data"))}
    with django_db_blocker.unblock(), monkeypatch.context() as patch:
        _disconnect()
        for database in (settings.DATABASES["default"], django_connection.settings_dict):
            for name, value in {"HOST": "", "NAME": "observatory", "OPTIONS": options}.items():
                patch.setitem(database, name, value)
        yield server
        _disconnect()
    server.stop()
    shutil.rmtree(parent)


def _disconnect() -> None:
    django_connection.close()
    django_connection.close_pool()
    close_pools()
    needed.forget()


@pytest.fixture
def live(server: Server) -> Cluster:
    return _new(make_cluster(Project.objects.create(name="Alpha", slug="alpha"), 1))


@pytest.fixture
def cluster(live: Cluster) -> Cluster:
    """A cluster that ended, with records of every kind."""
    made = _new(make_cluster(live.project, 2, hours=2))
    write_everything(made.pk)
    return made


def _new(cluster: Cluster) -> Cluster:
    """The server before had another one of this number, whose names this process may remember."""
    KNOWN_CLUSTERS.take(cluster.pk)
    return cluster


@pytest.fixture
def folder(tmp_path: Path, settings: LazySettings) -> Path:
    settings.ARCHIVE = str(tmp_path)
    return tmp_path


def _stored(cluster: int) -> Rows:
    with connect() as connection:
        return rows_of(connection, cluster)


def _rows_of_files(folder: Path, cluster: int, kind: str) -> int:
    """Of those that count, read by pyarrow alone."""
    with connect() as connection:
        pieces = [piece for piece in catalogue.pieces(connection, cluster) if piece.kind == kind]
    return sum(pq.read_table(folder / piece.path, partitioning=None).num_rows for piece in pieces)


def _removed_kinds(cluster: int) -> list[str]:
    with connect() as connection:
        return presence.removed_kinds(connection, cluster)


def _is_everything_there_once(folder: Path, cluster: int, before: Rows) -> bool:
    """Whether each kind is wholly in its table, or wholly in files alone."""
    removed, found = _removed_kinds(cluster), _stored(cluster)
    return all(
        found[kind] == [] and _rows_of_files(folder, cluster, kind) == len(before[kind])
        if kind in removed
        else found[kind] == before[kind]
        for kind in KINDS
    )


def _nothing_is_left_over(folder: Path, cluster: int) -> bool:
    with connect() as connection:
        known = [piece.path for piece in catalogue.pieces(connection, states=("stored", "replaced"))]
        is_in_order = faults(connection, cluster) == []
        others = catalogue.pieces(connection, states=("writing", "leaving"))
    there = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    return is_in_order and not others and sorted(there) == sorted([*known, MARK])


def _killed_during(server: Server, work: Callable[[], object], of: Operations, operations: int) -> list[str]:
    """Kill PostgreSQL at an operation of the work, and start it again; says at which."""
    with acting(of, operations, server.kill) as done:
        try:
            work()
        except psycopg.Error:
            assert done
    if done:
        server.start()
    needed.forget()
    return done


def _remove(cluster: int) -> int:
    with connect() as connection:
        return remove_unused(connection, cluster)


def test_a_server_that_is_killed_at_any_moment_of_archiving_loses_and_doubles_nothing(
    server: Server, live: Cluster, cluster: Cluster, folder: Path
) -> None:
    before = _stored(cluster.pk)
    assert all(before.values())
    kills: list[str] = []
    operations = 0
    while True:
        done = _killed_during(server, archive_round, OF_ARCHIVING, operations)
        if not done:
            break
        kills += done
        operations += 1 + operations // 2
        server.record(live.pk)
        assert _stored(cluster.pk) == before
        with connect() as connection:
            pieces = catalogue.pieces(connection, cluster.pk)
        for piece in pieces:
            assert pq.read_metadata(folder / piece.path).num_rows == piece.rows
            assert piece.kind not in before or piece.rows in (0, len(before[piece.kind]))
    assert len(kills) > 5
    with connect() as connection:
        assert waiting_clusters(connection) == []
    assert _nothing_is_left_over(folder, cluster.pk)
    assert {kind: _rows_of_files(folder, cluster.pk, kind) for kind in KINDS} == {
        kind: len(rows) for kind, rows in before.items()
    }
    assert len(_stored(live.pk)["event"]) == server.recorded == len(kills)


def test_a_server_that_is_killed_while_rows_leave_or_come_back_loses_and_doubles_nothing(
    server: Server, live: Cluster, cluster: Cluster, folder: Path
) -> None:
    before = _stored(cluster.pk)
    archive_round()
    works: list[tuple[Callable[[], object], int]] = [
        (lambda: _remove(cluster.pk), len(KINDS)),
        (lambda: bring_back(cluster.pk, KINDS), 0),
    ]
    for work, removed in works:
        kills: list[str] = []
        operations = 0
        while len(_removed_kinds(cluster.pk)) != removed:
            kills += _killed_during(server, work, OF_ROWS, operations)
            operations += 4 + operations // 2
            server.record(live.pk)
            assert _is_everything_there_once(folder, cluster.pk, before)
        assert len(kills) > 3
    assert _stored(cluster.pk) == before
    assert _nothing_is_left_over(folder, cluster.pk)
    assert len(_stored(live.pk)["event"]) == server.recorded


@pytest.mark.parametrize("when", ["leave", "come back"])
def test_a_server_that_is_killed_in_the_middle_of_one_statement_on_rows_undoes_it(
    when: str, server: Server, live: Cluster, cluster: Cluster, folder: Path
) -> None:
    with Writer() as writer:
        samples = [Sample(Series("many"), START + number / 1000, number) for number in range(MANY)]
        writer.write(Batch.of(cluster.pk, samples=samples))
    before = _stored(cluster.pk)
    assert len(before["sample"]) > MANY
    archive_round()
    if when == "come back":
        _remove(cluster.pk)
    work: Callable[[], object] = (
        (lambda: _remove(cluster.pk)) if when == "leave" else (lambda: bring_back(cluster.pk, ["sample"]))
    )
    with connect() as connection:
        _have_samples_wait(connection, "DELETE" if when == "leave" else "INSERT")
    killing = Thread(target=_kill_once_it_waits, args=[server])
    killing.start()
    with pytest.raises(psycopg.OperationalError):
        work()
    killing.join()
    server.start()
    needed.forget()
    server.record(live.pk)
    assert _is_everything_there_once(folder, cluster.pk, before)
    with connect() as connection:
        connection.execute("DROP TRIGGER wait ON sample")
    work()
    assert ("sample" in _removed_kinds(cluster.pk)) == (when == "leave")
    assert _is_everything_there_once(folder, cluster.pk, before)
    assert _nothing_is_left_over(folder, cluster.pk)
    assert len(_stored(live.pk)["event"]) == 1


def _have_samples_wait(connection: psycopg.Connection, operation: str) -> None:
    """Have statements on samples wait with half of the rows done."""
    row = {"DELETE": "OLD", "INSERT": "NEW"}[operation]
    connection.execute(
        f"""CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF {row}.value = {MANY // 2} THEN PERFORM pg_sleep(600); END IF;
            RETURN {row}; END $$"""
    )
    connection.execute(
        f"CREATE TRIGGER wait BEFORE {operation} ON sample FOR EACH ROW EXECUTE FUNCTION wait()"
    )


def _kill_once_it_waits(server: Server) -> None:
    with connect() as connection:
        while not connection.execute("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'").fetchall():
            time.sleep(0.05)
    server.kill()
