"""What scans of files find is what queries of the tables do, and no kind is brought back for it."""

from __future__ import annotations

import re
from contextvars import copy_context
from html import unescape
from pathlib import Path
from urllib.parse import quote

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from observatory.clusters.models import Cluster
from observatory.pages.logs import views
from observatory.replay.logs.search import (
    listed_lines,
)
from observatory.replay.task_history import task_history
from observatory.store.archive import presence
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.scans.bloom_filters import may_have_any, xxh64
from observatory.store.archive.scans.conditions import AtLeast, Condition
from observatory.store.connection import connect_reader
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.places.askers import ASKER, Asker, AskerGone
from observatory.store.queries.logs import LogFilter
from observatory.store.queries.timeline import snapshot
from observatory.store.reading.scanned_files import SCANNED_FILES, ScannedFiles
from observatory.store.reading.scanning import scanned
from observatory.wire.records import Event
from tests.store.archive.conftest import Archive, remove_unused
from tests.store.archive.long_history import (
    RARE,
    SECOND,
    START,
    STEP,
    STEPS,
    key_of,
)
from tests.store.archive.scans.reads import READS, Read
from tests.support.projects import World

NEWEST = 136
"""the last step of its group that computed"""


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_scans_give_the_same_answers_as_tables_and_bring_nothing_back(
    read: Read, connection: psycopg.Connection, recorded: Cluster, folder: object
) -> None:
    with connect_reader() as reader:
        expected = read(reader, recorded)
        archive_round()
        assert remove_unused(connection, recorded.pk) > 0
        removed = presence.removed_kinds(connection, recorded.pk)
        assert read(reader, recorded) == expected
        assert presence.removed_kinds(connection, recorded.pk) == removed
        assert reader.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_late_records_are_found_beside_archived_ones(
    read: Read, connection: psycopg.Connection, recorded: Cluster, folder: object
) -> None:
    archive_round()
    remove_unused(connection, recorded.pk)
    with Writer() as writer:
        writer.write(Batch.of(recorded.pk, events=[Event(START + RARE * STEP + 1, "restarted", SECOND, {})]))
    with connect_reader() as reader:
        found = read(reader, recorded)
    with connect_reader() as reader:  # they are in their tables by now
        assert found == read(reader, recorded)


def test_pages_of_archived_records_bring_nothing_back(
    connection: psycopg.Connection, recorded: Cluster, folder: object, world: World
) -> None:
    archive_round()
    remove_unused(connection, recorded.pk)
    removed = presence.removed_kinds(connection, recorded.pk)
    with connect_reader() as reader, snapshot(reader):
        [error, *_] = task_history(reader, recorded.pk, key_of(RARE)).errors
    pages = {
        "/search?q=load-3": key_of(NEWEST),
        f"/clusters/{recorded.pk}/tasks/?q=load-3": key_of(NEWEST),
        f"/clusters/{recorded.pk}/tasks/?key={quote(key_of(RARE))}": "ZeroDivisionError",
        f"/clusters/{recorded.pk}/errors/{error.id}": f"order {RARE} is done",
        f"/clusters/{recorded.pk}/logs/?text=needle": "A Needle in hay",
        f"/api/v1/clusters/{recorded.pk}/logs?match=needle": "A Needle in hay",
        f"/api/v1/clusters/{recorded.pk}/log-counts?match=needle": "counts",
        "/api/v1/search?q=load-3": "load-3",
    }
    for path, text in pages.items():
        answer = world.client("owner").get(path, follow=True)
        assert answer.status_code == 200, path
        assert text in unescape(answer.content.decode()), path
        assert presence.removed_kinds(connection, recorded.pk) == removed, path
    assert world.client("outsider").get(f"/clusters/{recorded.pk}/logs/?text=needle").status_code == 404
    found = world.client("outsider").get("/search?q=load-3", follow=True).content.decode()
    assert key_of(NEWEST) not in unescape(found)


def test_filters_of_files_know_all_of_their_values(tmp_path: Path) -> None:
    keys = [key_of(step) for step in range(2_000)]
    path = tmp_path / "keys.parquet"
    pq.write_table(pa.table({"key": keys}), path, bloom_filter_options={"key": {"ndv": 2_000, "fpp": 0.05}})
    column = pq.read_metadata(path).row_group(0).column(0)
    with pa.OSFile(str(path)) as stream:
        assert all(may_have_any(stream, column, [key]) for key in keys)
        assert sum(may_have_any(stream, column, [f"{key} "]) for key in keys) < 200


@pytest.mark.parametrize(
    ("data", "hashed"),
    [(b"", 0xEF46DB3751D8E999), (b"abc", 0x44BC2CF5AD770999), (b"a", 0xD24EC4F1A98C6E5B)],
)
def test_texts_are_hashed_as_xxhash_does(data: bytes, hashed: int) -> None:
    assert xxh64(data) == hashed


def test_what_is_found_beyond_a_limit_is_brought_back(
    connection: psycopg.Connection, recorded: Cluster, folder: object
) -> None:
    archive_round()
    remove_unused(connection, recorded.pk)
    query = "SELECT count(*) FROM log WHERE cluster_id = %(cluster)s"
    with connect_reader() as reader:
        with scanned(reader, recorded.pk, {"log": Condition((AtLeast("level", 40),))}, most=10):
            assert reader.execute(query, {"cluster": recorded.pk}).fetchone() == (1,)
        with scanned(reader, recorded.pk, {"log": Condition()}, most=10):
            assert reader.execute(query, {"cluster": recorded.pk}).fetchone() == (4 * STEPS + 1,)
    assert "log" not in presence.removed_kinds(connection, recorded.pk)


def test_prepared_queries_find_what_a_scan_found_and_then_what_is_in_the_table(
    connection: psycopg.Connection, recorded: Cluster, folder: object
) -> None:
    archive_round()
    remove_unused(connection, recorded.pk)
    only = Condition((AtLeast("level", 40),))
    found = []
    with connect_reader() as reader:
        reader.prepare_threshold = 0
        for cluster in (recorded.pk, recorded.pk + 1, recorded.pk, recorded.pk + 1, recorded.pk):
            with scanned(reader, cluster, {"log": only}):
                query = "SELECT count(*) FROM log WHERE cluster_id = %(cluster)s"
                found.append(reader.execute(query, {"cluster": cluster}).fetchone())
    assert found == [(1,), (0,), (1,), (0,), (1,)]


def test_a_search_tells_how_many_files_it_has_read_and_stops_when_nobody_waits(
    connection: psycopg.Connection, recorded: Cluster, archive: Archive, folder: Path
) -> None:
    archive_round(seconds=3_600)
    remove_unused(connection, recorded.pk)
    number = len(archive.paths(recorded.pk)["log"])
    assert number > 3
    asker, files = Asker("somebody"), ScannedFiles()
    context = copy_context()
    context.run(ASKER.set, asker)
    context.run(SCANNED_FILES.set, files)
    with connect_reader() as reader:
        found, cursor = context.run(listed_lines, reader, recorded.pk, LogFilter(), 30, deadline=0.0)
        assert found
        assert cursor is not None
        assert (files.read, files.of) == (1, number)
        context.run(listed_lines, reader, recorded.pk, LogFilter(text="nowhere"), 30)
        assert (files.read, files.of) == (1 + number, 2 * number)
        asker.is_gone = True
        with pytest.raises(AskerGone):
            context.run(listed_lines, reader, recorded.pk, LogFilter(), 30)
        assert reader.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


def test_a_page_tells_how_many_files_were_read(
    connection: psycopg.Connection,
    recorded: Cluster,
    archive: Archive,
    folder: object,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    archive_round(seconds=3_600)
    remove_unused(connection, recorded.pk)
    monkeypatch.setattr(views, "BUDGET", -1.0)
    files = copy_context()
    files.run(SCANNED_FILES.set, ScannedFiles())
    path = f"/clusters/{recorded.pk}/logs/?text=paused"
    page = files.run(world.client("owner").get, path).content.decode()
    number = len(archive.paths(recorded.pk)["log"])
    assert re.search(rf"and has read \d of {number} files of the archive", page), page


def test_a_file_that_is_gone_is_named(
    connection: psycopg.Connection, recorded: Cluster, archive: Archive, folder: Path
) -> None:
    archive_round()
    remove_unused(connection, recorded.pk)
    path = archive.paths(recorded.pk)["log"][0]
    (folder / path).unlink()
    with connect_reader() as reader, pytest.raises(ArchiveError, match="missing"):
        listed_lines(reader, recorded.pk, LogFilter(), 10_000)
