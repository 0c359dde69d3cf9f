"""The archive in a bucket: on a server that speaks S3, which is away, slow, or refuses the credentials."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from observatory.clusters.models import Cluster, Project
from observatory.replay.logs.search import listed_lines
from observatory.replay.task_history import task_history
from observatory.store.archive import catalogue, needed, presence
from observatory.store.archive import place as places
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.place import MARK, Place, required_place
from observatory.store.archive.restoring import bringing_back
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.rounds.waiting import waiting_clusters
from observatory.store.connection import connect_reader
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retained_windows import RetainedWindow
from observatory.store.maintenance.retention import apply_retention, delete_cluster
from observatory.store.queries.logs import LogFilter, lines_before
from observatory.store.times import from_seconds
from observatory.wire.kinds import stored_kinds
from observatory.wire.records import Event
from tests.exchange.everything import KEY, START, STOP
from tests.store.archive.adoption.conftest import lose
from tests.store.archive.conftest import faults, faults_of_files, next_head, remove_unused, rows_of
from tests.store.archive.killing import acting
from tests.support.object_store import ENVIRONMENT, ObjectStore, object_store
from tests.support.projects import World

KINDS = [kind.name for kind in stored_kinds()]
OF_ARCHIVING = (
    (Place, "create"),
    (Place, "finish"),
    (Place, "remove"),
    (catalogue, "enter"),
    (catalogue, "forget"),
    (catalogue, "note_archived"),
)
OF_ROWS = (
    (Place, "checksum"),
    (Place, "open"),
    (bringing_back, "copied_rows"),
    (presence, "note_removed"),
    (presence, "note_brought_back"),
)
Rows = dict[str, list[tuple[object, ...]]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store(tmp_path_factory.mktemp("moto")) as store:
        yield store


@pytest.fixture
def store(
    server: ObjectStore, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ObjectStore]:
    """With an empty bucket, which is the archive."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(needed, "REMEMBERED", 0.0)
    server.empty()
    settings.ARCHIVE = server.url
    required_place().check(is_used=False)
    yield server
    server.connection.delay, server.connection.upload_limit = 0.0, None


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is away is tried once."""
    monkeypatch.setattr(places, "ATTEMPTS", 1)


@pytest.fixture
def removed(connection: psycopg.Connection, cluster: Cluster, store: ObjectStore) -> Rows:
    """The rows of the cluster, which are in the bucket alone."""
    before = rows_of(connection, cluster.pk)
    archive_round()
    assert remove_unused(connection, cluster.pk) == sum(map(len, before.values()))
    return before


def _is_in_order(connection: psycopg.Connection, cluster: int) -> bool:
    """Whether files, catalogue and rows agree, and there are no other files."""
    known = catalogue.pieces(connection, states=("stored", "replaced"))
    return faults(connection, cluster) == [] and required_place().files() == sorted(
        piece.path for piece in known
    )


def _read_lines(cluster: int) -> int:
    """The number of log lines."""
    with connect_reader() as connection:
        return len(lines_before(connection, cluster, LogFilter(), 10_000))


def _record(connection: psycopg.Connection, cluster: Cluster, *messages: str) -> None:
    """Log lines of a cluster's agent, which come late."""
    rows = [(START + 3, "scheduler", "", 20, "distributed.core", message, "", 1) for message in messages]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, rows={"log": rows}, head=next_head(connection, cluster)))


def test_searches_and_stories_read_the_bucket_and_bring_nothing_back(
    connection: psycopg.Connection, cluster: Cluster, removed: Rows
) -> None:
    kinds = presence.removed_kinds(connection, cluster.pk)
    with connect_reader() as reader:
        lines, _ = listed_lines(reader, cluster.pk, LogFilter(text="WARM"), 100)
        story = task_history(reader, cluster.pk, KEY)
    assert [line.message for line in lines] == ["it is warm"] * 4
    assert (len(story.transitions), len(story.spans), story.dependencies.total) == (4, 8, 4)
    assert presence.removed_kinds(connection, cluster.pk) == kinds


def test_rows_leave_for_a_bucket_and_come_back_as_they_were(
    connection: psycopg.Connection, cluster: Cluster, removed: Rows
) -> None:
    assert not any(rows_of(connection, cluster.pk).values())
    assert _is_in_order(connection, cluster.pk)
    call_command("archive", "verify")
    assert _read_lines(cluster.pk) == len(removed["log"])
    bring_back(cluster.pk, KINDS)
    assert rows_of(connection, cluster.pk) == removed


def test_a_lost_database_is_rebuilt_from_a_bucket(
    connection: psycopg.Connection, cluster: Cluster, removed: Rows
) -> None:
    lose(connection)
    call_command("archive", "adopt", cluster.project.slug)
    bring_back(cluster.pk, KINDS)
    assert rows_of(connection, cluster.pk) == removed
    assert _is_in_order(connection, cluster.pk)
    Project.objects.filter(slug=cluster.project.slug).delete()


def test_files_of_a_deleted_cluster_leave_the_bucket_once_it_can_be_reached(
    connection: psycopg.Connection, cluster: Cluster, removed: Rows, store: ObjectStore, impatient: None
) -> None:
    written = required_place().files()
    with store.cut():
        delete_cluster(cluster.pk)
    assert required_place().files() == written
    archive_round()
    assert required_place().files() == []
    assert catalogue.pieces(connection, states=("stored", "replaced", "leaving", "writing")) == []


def test_while_a_bucket_is_away_pages_say_so_nothing_is_deleted_and_recording_goes_on(
    connection: psycopg.Connection,
    cluster: Cluster,
    world: World,
    removed: Rows,
    store: ObjectStore,
    impatient: None,
) -> None:
    with store.cut():
        with pytest.raises(ArchiveError, match="the object store does not answer"):
            _read_lines(cluster.pk)
        client = world.client("owner")
        client.raise_request_exception = False
        for url in (f"/clusters/{cluster.pk}/errors/", f"/api/v1/clusters/{cluster.pk}/state?at={START + 5}"):
            shown = client.get(url)
            assert (shown.status_code, "The archive is away" in shown.content.decode()) == (503, True), url
        _record(connection, cluster, "late")
        with Writer() as writer:
            writer.write(Batch.of(world.live.pk, events=[Event(START, "restarted")]))
        kept = RetainedWindow(cluster.pk, from_seconds(START), from_seconds(STOP))
        apply_retention({cluster.pk: 1}, 30, from_seconds(STOP) + timedelta(days=20), [kept])
        with pytest.raises(ArchiveError):
            archive_round()
    assert _read_lines(cluster.pk) == len(removed["log"]) + 1
    assert len(rows_of(connection, world.live.pk)["event"]) == 1
    archive_round()
    assert waiting_clusters(connection) == []


@pytest.mark.parametrize("refused", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_wrong_credentials_are_named_and_cost_nothing(
    refused: str,
    connection: psycopg.Connection,
    cluster: Cluster,
    removed: Rows,
    store: ObjectStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = catalogue.pieces(connection)
    with store.asking_for_credentials() as credentials:
        for name, value in credentials.items():
            monkeypatch.setenv(name, value)
        assert _is_in_order(connection, cluster.pk)
        monkeypatch.setenv(refused, "wrong")
        for work in (archive_round, lambda: bring_back(cluster.pk, KINDS)):
            with pytest.raises(ArchiveError, match="refuses Observatory's credentials: correct them"):
                work()
        with pytest.raises(CommandError, match="refuses Observatory's credentials"):
            call_command("archive", "verify")
        _record(connection, cluster, "late")
    assert catalogue.pieces(connection) == known
    monkeypatch.undo()
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    needed.forget()
    assert _read_lines(cluster.pk) == len(removed["log"]) + 1


def test_slow_answers_are_waited_for(
    connection: psycopg.Connection,
    cluster: Cluster,
    removed: Rows,
    store: ObjectStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "REQUEST_TIMEOUT", 2.0)
    store.connection.delay = 1.0
    bring_back(cluster.pk, ["log"])
    assert rows_of(connection, cluster.pk)["log"] == removed["log"]


def test_a_server_that_hangs_is_given_up(
    connection: psycopg.Connection,
    cluster: Cluster,
    removed: Rows,
    store: ObjectStore,
    impatient: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "REQUEST_TIMEOUT", 1.0)
    store.process.signal(signal.SIGSTOP)
    try:
        with pytest.raises(ArchiveError, match="the object store does not answer"):
            _read_lines(cluster.pk)
    finally:
        store.process.signal(signal.SIGCONT)
    assert _read_lines(cluster.pk) == len(removed["log"])


def test_a_half_written_upload_does_not_count(
    connection: psycopg.Connection, cluster: Cluster, store: ObjectStore, impatient: None
) -> None:
    archive_round()
    # texts that do not shrink: 4 MB
    messages = [os.urandom(4_000).hex() for _ in range(1_000)]
    _record(connection, cluster, *messages)
    before = rows_of(connection, cluster.pk)
    store.connection.upload_limit = 3_000_000
    with pytest.raises(ArchiveError, match="the object store does not answer"):
        archive_round()
    store.connection.upload_limit = None
    store.connection.connect()
    assert store.unfinished_uploads() == 1
    assert [piece.kind for piece in catalogue.pieces(connection, states=("writing",))] == ["log"]
    archive_round()
    assert _is_in_order(connection, cluster.pk)
    assert rows_of(connection, cluster.pk) == before


def test_a_bucket_that_is_lost_is_said_to_be_lost_and_written_again_on_request(
    connection: psycopg.Connection, cluster: Cluster, store: ObjectStore
) -> None:
    archive_round()
    known = catalogue.pieces(connection)
    store.process.restart()
    store.make_bucket()
    with pytest.raises(ArchiveError, match=f"has no {MARK}, and the catalogue lists files of it"):
        archive_round()
    assert catalogue.pieces(connection) == known
    call_command("archive", "run", "--again")
    assert _is_in_order(connection, cluster.pk)


def test_a_server_that_dies_at_any_moment_of_archiving_loses_and_doubles_nothing(
    connection: psycopg.Connection, cluster: Cluster, store: ObjectStore, impatient: None
) -> None:
    before = rows_of(connection, cluster.pk)
    cuts: list[str] = []
    operations = 0
    while waiting_clusters(connection):
        with acting(OF_ARCHIVING, operations, store.connection.cut) as done:
            try:
                archive_round()
            except ArchiveError:
                assert done
        operations += 1 + operations // 2
        cuts += done
        store.connection.connect()
        assert faults_of_files(connection) == []
        assert rows_of(connection, cluster.pk) == before
    archive_round()
    assert {each.split()[1] for each in cuts} > {"create", "finish", "enter"}
    assert _is_in_order(connection, cluster.pk)


def test_a_server_that_dies_while_rows_leave_or_come_back_loses_and_doubles_nothing(
    connection: psycopg.Connection, cluster: Cluster, store: ObjectStore, impatient: None
) -> None:
    before = rows_of(connection, cluster.pk)
    archive_round()
    for work, is_done in (
        (lambda: remove_unused(connection, cluster.pk), lambda removed: len(removed) == len(KINDS)),
        (lambda: bring_back(cluster.pk, KINDS), lambda removed: not removed),
    ):
        cuts = 0
        while not is_done(removed := presence.removed_kinds(connection, cluster.pk)):
            with acting(OF_ROWS, cuts * 5, store.connection.cut) as done:
                try:
                    work()
                except ArchiveError:
                    assert done
            cuts += len(done)
            store.connection.connect()
            removed = presence.removed_kinds(connection, cluster.pk)
            found = rows_of(connection, cluster.pk)
            assert all(found[kind] == ([] if kind in removed else before[kind]) for kind in KINDS)
        assert cuts > 3
    assert rows_of(connection, cluster.pk) == before
    assert _is_in_order(connection, cluster.pk)
