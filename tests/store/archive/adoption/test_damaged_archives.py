"""What is adopted where files of the archive are damaged, missing or left over, and what a kill leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command

from observatory.clusters.models import Cluster, Project
from observatory.runs.models import Run
from observatory.store.archive import catalogue, needed, presence
from observatory.store.archive.restoring import adoption
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.restoring.tables import Restoration
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect_reader
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from tests.exchange.everything import START
from tests.store.archive.adoption.conftest import KINDS, lose, stored_rows
from tests.store.archive.conftest import Archive, next_head
from tests.store.archive.killing import killed


def test_a_folder_that_is_not_mounted_is_said_to_be_no_archive(
    connection: psycopg.Connection, folder: Path
) -> None:
    with pytest.raises(CommandError, match=r"There is no archive at .*Mount the folder"):
        call_command("archive", "adopt")
    assert list(folder.iterdir()) == []


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


def test_files_that_a_crash_left_behind_do_not_count(
    connection: psycopg.Connection, cluster: Cluster, run: Run, archive: Archive, folder: Path
) -> None:
    archive_round()
    stored = stored_rows(connection, cluster.pk)
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
    found = stored_rows(connection, cluster.pk)
    assert found["log"] == stored["log"]
