"""A database that was lost is made anew from the archive's folder alone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
import pytest
from django.core.management import CommandError, call_command

from observatory.clusters.models import Cluster, Project
from observatory.runs.models import FindingMark, Run
from observatory.store.archive import needed, presence
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds import round as round_of_archive
from observatory.store.archive.rounds.changed_runs import PARTS, clusters_with_other_runs
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.rounds.waiting import waiting_clusters
from observatory.store.connection import connect_reader
from observatory.store.queries.named_records import read, record_kinds
from tests.exchange.everything import STOP, write_everything
from tests.store.archive.adoption.conftest import KINDS, lose, stored_rows
from tests.store.archive.conftest import Archive
from tests.store.archive.test_reading import Arguments, answers

NOW = datetime(2026, 9, 1, tzinfo=UTC)


ONE_OF_SEVERAL = {"windows.findings.known_tasks", "windows.thread_time.keys_of_computations"}
"""functions that take any of several spans that begin on a lane at once"""


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
    found = stored_rows(connection, cluster.pk)
    assert {table for table in lost if found[table] != lost[table]} == set()
    assert waiting_clusters(connection) == []
    assert archive.faults(cluster.pk) == []
    call_command("archive", "adopt", "alpha")
    assert "0 clusters were adopted, 1 were here already." in capsys.readouterr().out
    assert stored_rows(connection, cluster.pk) == found
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
    before = stored_rows(connection, here.pk)
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
    assert stored_rows(connection, here.pk) == before
    # its files get the new numbers
    assert waiting_clusters(connection) == [adopted.pk]
    archive_round()
    assert waiting_clusters(connection) == []
    assert archive.faults(adopted.pk) == []
    assert archive.table("run", adopted.pk).column("id").to_pylist() == [run.pk]


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
