"""A database that was lost is made anew from the archive's folder alone."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
import pytest
from django.core.management import CommandError, call_command

from observatory.clusters.models import Cluster, Project
from observatory.runs.models import (
    Attachment,
    FindingMark,
    Note,
    Run,
    RunDiscovery,
    RunError,
    RunExplanation,
    RunFindings,
    Usage,
)
from observatory.runs.refresh import refresh_figures
from observatory.store.archive import catalogue, needed, presence
from observatory.store.archive.files.run_tables import RUN_TABLES
from observatory.store.archive.restoring import adoption
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.restoring.tables import Restoration
from observatory.store.archive.rounds import round as round_of_archive
from observatory.store.archive.rounds.changed_runs import PARTS, clusters_with_other_runs
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.rounds.waiting import waiting_clusters
from observatory.store.connection import connect_reader
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.named_records import read, record_kinds
from observatory.store.times import from_seconds
from observatory.wire.kinds import stored_kinds
from tests.exchange.everything import START, STOP, write_everything
from tests.store.archive.conftest import Archive, next_head
from tests.store.archive.killing import killed
from tests.store.archive.test_reading import Arguments, answers

KINDS = [kind.name for kind in stored_kinds()]
NOW = datetime(2026, 9, 1, tzinfo=UTC)
TABLES = (
    "worker",
    "lane",
    "prefix",
    "task_group",
    "typename",
    "series",
    "stack",
    "agent",
    "hole",
    "keyframe",
    "tile",
    "extent",
    *(table.table for table in RUN_TABLES if not table.is_of_run),
)
OF_RUNS = tuple(table.table for table in RUN_TABLES if table.is_of_run)
NOT_ARCHIVED = ("target_id", "agent_silent", "collector_behind", "project_id", "created_by_id", "author_id")
"""what refers to users and to how it was observed"""
LOST = (
    *TABLES,
    *OF_RUNS,
    *KINDS,
    "clusters_cluster",
    "clusters_project",
    "archive_piece",
    "archived_cluster",
    "archived_rows",
)


ONE_OF_SEVERAL = {"windows.findings.known_tasks", "windows.thread_time.keys_of_computations"}
"""functions that take any of several spans that begin on a lane at once"""


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needed, "REMEMBERED", 0.0)


@pytest.fixture
def run(connection: psycopg.Connection, cluster: Cluster) -> Run:
    """With everything that is known of runs."""
    run = Run.objects.create(
        cluster=cluster,
        name="nightly, “quoted”\n",
        origin=Run.Origin.CODE,
        outcome=Run.Outcome.FINISHED,
        start=from_seconds(START),
        stop=from_seconds(STOP),
        code_id=uuid.uuid4(),
        tags={"git": "3f2a\\1c", "ü": "\t"},
        code="print('\\N')",
        pinned=True,
    )
    refresh_figures(run)
    now = datetime.now(UTC)
    RunError.objects.create(
        run=run,
        exception_type="ValueError",
        place="f",
        prefix="sum",
        count=3,
        first=now,
        last=now,
        last_id="0f0e0d0c-0b0a-0908-0706-050403020101",
        deaths={"lost": 1},
    )
    RunFindings.objects.create(run=run, state="found", counted=now, kind="gc", sentence="s", all=[{"a": 1}])
    FindingMark.objects.create(
        project=cluster.project, run=run, run_name=run.name, kind="gc", prefixes=["ü"], marked_as="known"
    )
    RunExplanation.objects.create(run=run, counted=now, answers={"findings": [1, 2]})
    [worker] = connection.execute(
        "SELECT min(id) FROM worker WHERE cluster_id = %s", [cluster.pk]
    ).fetchone() or [0]
    Attachment.objects.create(
        run=run,
        name="p.json",
        format="trace",
        digest="d",
        start=now,
        seconds=2.5,
        threads=[{"process": "1", "worker": worker}],
        stacks=bytes(range(256)),
    )
    Usage.objects.create(cluster=cluster, run=run, day=date(2026, 9, 1), until=now, thread_seconds=0.1)
    Usage.objects.create(cluster=cluster, run=None, day=date(2026, 9, 1), until=now, tasks=2**40)
    Note.objects.create(cluster=cluster, time=now, text="<b>look</b>")
    RunDiscovery.objects.create(cluster=cluster, records=9, looked=now)
    connection.execute(
        """INSERT INTO keyframe (cluster_id, time, until, prefixes, counts, seconds)
           SELECT %(cluster)s, now(), now(), array_agg(id ORDER BY name DESC), '{1,2}', '{0.5}'
           FROM prefix WHERE cluster_id = %(cluster)s""",
        {"cluster": cluster.pk},
    )
    connection.execute("INSERT INTO tile VALUES (%s, 'spans', 3, 77, 1, %s)", [cluster.pk, bytes(range(256))])
    connection.execute("INSERT INTO hole VALUES (%s, now() - interval '3 days', now())", [cluster.pk])
    return run


def _stored(connection: psycopg.Connection, cluster: int, records: bool = True) -> dict[str, list[Any]]:
    """All rows of a cluster, by table, as JSON."""
    found = {}
    for table in (*TABLES, *(KINDS if records else ()), *OF_RUNS):
        condition = (
            "run_id IN (SELECT id FROM runs_run WHERE cluster_id = %s)"
            if table in OF_RUNS
            else "cluster_id = %s"
        )
        rows = connection.execute(f"SELECT to_jsonb(stored) FROM {table} stored WHERE {condition}", [cluster])
        found[table] = sorted(json.dumps(_archived(table, row), sort_keys=True) for (row,) in rows)
    row = connection.execute(
        "SELECT to_jsonb(cluster) FROM clusters_cluster cluster WHERE id = %s", [cluster]
    ).fetchone()
    assert row is not None
    found["cluster"] = [_archived("cluster", row[0])]
    return found


def _archived(table: str, row: dict[str, Any]) -> dict[str, Any]:
    own = () if table in (*TABLES[:7], "cluster", "agent", "runs_run") else ("id",)
    return {name: value for name, value in row.items() if name not in (*NOT_ARCHIVED, *own)}


def lose(connection: psycopg.Connection) -> None:
    """Empty the database, as one that was just migrated."""
    connection.execute(f"TRUNCATE {', '.join(LOST)} RESTART IDENTITY CASCADE")
    needed.forget()


@pytest.fixture
def lost(
    connection: psycopg.Connection, cluster: Cluster, run: Run, folder: Path
) -> Iterator[dict[str, list[Any]]]:
    """What the lost database had of the cluster."""
    archive_round()
    stored = _stored(connection, cluster.pk)
    assert all(stored.values()), "the tests below could not fail"
    lose(connection)
    yield stored
    Project.objects.filter(slug__in=("alpha", "lab")).delete()


def test_a_lost_database_is_rebuilt_from_the_folder_alone(
    connection: psycopg.Connection,
    cluster: Cluster,
    lost: dict[str, list[Any]],
    archive: Archive,
    capsys: pytest.CaptureFixture[str],
) -> None:
    call_command("archive", "adopt", "alpha")
    said = capsys.readouterr().out
    assert "checked 1 of 1 clusters, " in said
    assert "all processes must know that records are in the archive alone: this takes a minute\n" in said
    assert f"1 of 1: cluster {cluster.pk}, {cluster.name}: adopted\n" in said
    assert presence.removed_kinds(connection, cluster.pk) == sorted(KINDS)
    bring_back(cluster.pk, KINDS)
    found = _stored(connection, cluster.pk)
    assert {table for table in lost if found[table] != lost[table]} == set()
    assert waiting_clusters(connection) == []
    assert archive.faults(cluster.pk) == []
    call_command("archive", "adopt", "alpha")
    assert "0 clusters were adopted, 1 were here already." in capsys.readouterr().out
    assert _stored(connection, cluster.pk) == found
    files = archive.files()
    archive_round()
    assert archive.files() == files


def test_every_read_function_answers_as_before(
    connection: psycopg.Connection, cluster: Cluster, run: Run, folder: Path
) -> None:
    arguments = Arguments(connection, cluster.pk)
    expected = answers(arguments, connect_reader, False, lambda: None)
    archive_round()
    lose(connection)
    call_command("archive", "adopt", cluster.project.slug)
    found = answers(arguments, connect_reader, False, needed.forget)
    different = {name: (found[name], expected[name]) for name in found if found[name] != expected[name]}
    assert different.keys() <= ONE_OF_SEVERAL, different
    Project.objects.filter(slug=cluster.project.slug).delete()


def test_beside_other_clusters_it_has_new_numbers_and_the_same_records(
    connection: psycopg.Connection,
    cluster: Cluster,
    lost: dict[str, list[Any]],
    archive: Archive,
) -> None:
    other = Project.objects.create(name="lab", slug="lab")
    here = Cluster.objects.create(
        pk=cluster.pk, project=other, scheduler_id="other", name="other", started=NOW, last_seen=NOW
    )
    write_everything(here.pk)
    before = _stored(connection, here.pk)
    call_command("archive", "adopt", "alpha=lab")
    [adopted] = Cluster.objects.filter(project=other, scheduler_id=cluster.scheduler_id)
    assert adopted.pk != cluster.pk
    run = adopted.runs.get()
    mark = FindingMark.objects.get(project=other)
    assert (mark.run, mark.run_name, mark.kind, mark.prefixes) == (run, run.name, "gc", ["ü"])
    assert (run.name, run.pinned, run.known_findings.all) == ("nightly, “quoted”\n", True, [{"a": 1}])
    assert [thread["worker"] for thread in run.attachments.get().threads] == [None]
    assert not connection.execute("SELECT FROM tile WHERE cluster_id = %s", [adopted.pk]).fetchall()
    bring_back(adopted.pk, KINDS)
    assert _as_read(connection, adopted.pk) == _as_read(connection, here.pk)
    assert _stored(connection, here.pk) == before
    # its files get the new numbers
    assert waiting_clusters(connection) == [adopted.pk]
    archive_round()
    assert waiting_clusters(connection) == []
    assert archive.faults(adopted.pk) == []
    assert archive.table("run", adopted.pk).column("id").to_pylist() == [run.pk]


def test_a_folder_that_is_not_mounted_is_said_to_be_no_archive(
    connection: psycopg.Connection, folder: Path
) -> None:
    with pytest.raises(CommandError, match=r"There is no archive at .*Mount the folder"):
        call_command("archive", "adopt")
    assert list(folder.iterdir()) == []


def test_a_mark_that_the_project_has_already_is_there_once(
    connection: psycopg.Connection, cluster: Cluster, lost: dict[str, list[Any]]
) -> None:
    project = Project.objects.create(name="lab", slug="lab")
    name = "nightly, “quoted”\n"
    newer = FindingMark.objects.create(
        project=project, run_name=name, kind="gc", prefixes=["ü"], marked_as="wrong"
    )
    call_command("archive", "adopt", "alpha=lab")
    [mark] = FindingMark.objects.filter(project=project)
    assert (mark.pk, mark.marked_as) == (newer.pk, "wrong")


def _as_read(connection: psycopg.Connection, cluster: int) -> dict[str, list[Any]]:
    found = {}
    for kind in record_kinds().values():
        names = [name for name in kind.columns if name not in ("id", "stack")]
        with connection.transaction():
            rows = read(connection, kind, cluster, 0, int((STOP + 1e6) * 1e6), names)
            found[kind.name] = sorted(repr(row[1:]) for some in rows for row in some)
    return found


def test_a_damaged_file_is_named_and_nothing_is_adopted_unless_one_goes_on(
    connection: psycopg.Connection,
    cluster: Cluster,
    run: Run,
    archive: Archive,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    archive_round()
    paths = {kind: paths[0] for kind, paths in archive.paths(cluster.pk).items()}
    lose(connection)
    (folder / paths["log"]).write_bytes(b"PAR1 no more PAR1")
    (folder / paths["event"]).unlink()
    for projects in (["alpha"], ["alpha=lab"]):
        with pytest.raises(CommandError, match="2 faults: nothing was adopted"):
            call_command("archive", "adopt", *projects)
        said = capsys.readouterr().err
        assert f"{paths['log']}: its checksum differs" in said
        assert f"{paths['event']}: The archive at" in said
        assert not Project.objects.filter(slug__in=("alpha", "lab")).exists()
    with pytest.raises(CommandError, match="2 faults: these files or clusters were left out"):
        call_command("archive", "adopt", "alpha", "--keep-going")
    assert "event" not in presence.removed_kinds(connection, cluster.pk)
    with connect_reader() as reader:
        assert not reader.execute(
            "SELECT FROM log WHERE cluster_id = %(cluster)s", {"cluster": cluster.pk}
        ).fetchall()
        assert reader.execute(
            "SELECT FROM span WHERE cluster_id = %(cluster)s", {"cluster": cluster.pk}
        ).fetchall()
    archive_round()
    assert archive.faults_of_pieces() == []


def test_without_what_records_refer_to_a_cluster_is_left_out(
    connection: psycopg.Connection, cluster: Cluster, run: Run, archive: Archive, folder: Path
) -> None:
    archive_round()
    [path] = archive.paths(cluster.pk)["worker"]
    [catalogue_path] = archive.paths(cluster.pk)["catalogue"]
    lose(connection)
    (folder / path).unlink()
    with pytest.raises(CommandError, match="left out"):
        call_command("archive", "adopt", "alpha", "--keep-going")
    assert not Cluster.objects.exists()
    (folder / catalogue_path).unlink()
    with pytest.raises(CommandError, match="The archive has no project alpha; it has: none"):
        call_command("archive", "adopt", "alpha", "--keep-going")


def test_a_process_that_is_killed_while_it_adopts_adopts_all_or_nothing(
    connection: psycopg.Connection, cluster: Cluster, lost: dict[str, list[Any]], archive: Archive
) -> None:
    operations = ((Restoration, "_copy"), (adoption, "_enter"), (presence, "announce"))
    kills = 0
    while killed(lambda: call_command("archive", "adopt", "alpha"), operations, kills * 3):
        kills += 1
        assert connection.execute("SELECT FROM extent").fetchall() == []
        assert catalogue.pieces(connection) == []
        needed.forget()
    assert kills > 5
    bring_back(Cluster.objects.get().pk, KINDS)
    assert Run.objects.count() == 1
    assert archive.faults(Cluster.objects.get().pk) == []


def test_projects_of_the_archive_are_listed_and_a_shorter_retention_is_refused(
    connection: psycopg.Connection,
    cluster: Cluster,
    lost: dict[str, list[Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    call_command("archive", "adopt")
    assert "alpha: 1 clusters, 2026-09-" in capsys.readouterr().out
    lab = Project.objects.create(name="lab", slug="lab", retention_days=3)
    with pytest.raises(CommandError, match="keeps records 3 days, those of the archive were kept 30"):
        call_command("archive", "adopt", "alpha=lab")
    assert not lab.clusters.exists()
    with pytest.raises(CommandError, match="The archive has no project beta; it has: alpha"):
        call_command("archive", "adopt", "beta")
    assert not Project.objects.filter(slug="beta").exists()


def test_files_of_one_cluster_belong_to_one_project(
    connection: psycopg.Connection, cluster: Cluster, lost: dict[str, list[Any]]
) -> None:
    call_command("archive", "adopt", "alpha")
    with pytest.raises(CommandError, match=f"has the files of cluster {cluster.pk}, which is in another"):
        call_command("archive", "adopt", "alpha=lab")


def test_files_that_a_crash_left_behind_do_not_count(
    connection: psycopg.Connection, cluster: Cluster, run: Run, archive: Archive, folder: Path
) -> None:
    archive_round()
    stored = _stored(connection, cluster.pk)
    before = set(archive.files())
    with Writer() as writer:
        late = (START + 3, "scheduler", "", 20, "distributed.core", "it was late", "", 1)
        writer.write(Batch.of(cluster.pk, rows={"log": [late]}, head=next_head(connection, cluster)))
    operations = 0
    while killed(lambda: archive_round(), ((catalogue, "enter"),), operations):
        operations += 1
        files = set(archive.files())
        assert before <= files, "what the last list names is there until the next one"
        if len(files) > len(before) + 5:
            break
    lose(connection)
    call_command("archive", "adopt", "alpha")
    bring_back(cluster.pk, KINDS)
    found = _stored(connection, cluster.pk)
    assert found["log"] == stored["log"]


def test_what_people_change_about_archived_runs_is_archived_within_an_hour(
    connection: psycopg.Connection, cluster: Cluster, run: Run, archive: Archive, folder: Path
) -> None:
    archive_round()
    before = archive.paths(cluster.pk)
    assert [cluster for part in range(PARTS) for cluster in clusters_with_other_runs(connection, part)] == []
    Run.objects.filter(pk=run.pk).update(name="renamed", pinned=False)
    parts = [part for part in range(PARTS) if clusters_with_other_runs(connection, part)]
    assert parts == [cluster.pk % PARTS]
    for minute in range(PARTS):
        with mock.patch.object(round_of_archive, "time", return_value=minute * 60.0):
            archive_round()
    after = archive.paths(cluster.pk)
    assert after["span"] == before["span"]
    assert archive.table("run", cluster.pk).column("name").to_pylist() == ["renamed"]
    assert archive.faults(cluster.pk) == []
    lose(connection)
    call_command("archive", "adopt", "alpha")
    assert Run.objects.get().name == "renamed"


def test_an_archive_of_an_earlier_version_gets_its_lists_in_the_background(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, folder: Path
) -> None:
    archive_round()
    connection.execute("UPDATE archived_cluster SET runs = ''")
    for path in archive.paths(cluster.pk)["catalogue"]:
        (folder / path).unlink()
    connection.execute("DELETE FROM archive_piece WHERE kind = 'catalogue'")
    spans = archive.paths(cluster.pk)["span"]
    assert waiting_clusters(connection) == [cluster.pk]
    archive_round()
    assert archive.paths(cluster.pk)["span"] == spans
    assert len(archive.paths(cluster.pk)["catalogue"]) == 1
    assert waiting_clusters(connection) == []
