from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import LazySettings

from observatory.clusters.models import Cluster
from observatory.store.archive import catalogue
from observatory.store.archive.files import stretches
from observatory.store.archive.files.rows import Coded, keys_of
from observatory.store.archive.files.tables import OTHER_TABLES
from observatory.store.archive.place import MARK, Place, required_place
from observatory.store.archive.rounds import archiving, pace
from observatory.store.archive.rounds.archiving import archive_cluster
from observatory.store.archive.rounds.pace import Pace
from observatory.store.archive.rounds.round import archive_again, archive_round
from observatory.store.archive.rounds.waiting import read_progress, waiting_clusters
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.keys import encode_keys
from observatory.store.maintenance.advisory_lock import ARCHIVE, try_lock
from observatory.store.queries.named_records import read, record_kinds
from observatory.store.tasks import archive_clusters
from observatory.wire.kinds import KINDS, stored_kinds
from observatory.wire.records import Event, Sample, Series
from tests.exchange.everything import FIRST, KEY, START, STOP
from tests.store.archive.conftest import Archive, compress, next_head
from tests.store.archive.killing import killed
from tests.support.projects import World

MICROSECONDS = 1_000_000
OPERATIONS = (
    (Place, "create"),
    (Place, "finish"),
    (Place, "checksum"),
    (Place, "remove"),
    (catalogue, "begin"),
    (catalogue, "enter"),
    (catalogue, "forget"),
    (catalogue, "note_archived"),
)
"""on files and catalogue"""


def _as_read(value: Any) -> Any:
    """A value of a file or of the records as people read them, so that equal ones compare equal."""
    if value is None:
        return ""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value


def _sorted(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(map(_as_read, row)) for row in rows), key=repr)


@pytest.mark.parametrize("kind", [kind.name for kind in stored_kinds()])
def test_files_have_every_row_as_people_read_it(
    kind: str, connection: psycopg.Connection, cluster: Cluster, archive: Archive, place: Place
) -> None:
    archive_cluster(cluster.pk, place)
    names = [reading.name for reading in KINDS[kind].readings if not reading.item and reading.name != "stack"]
    start, stop = ((START + days * 86_400) * MICROSECONDS for days in (-10, 10))
    with connection.transaction():
        expected = [
            row[1:]
            for rows in read(connection, record_kinds()[kind], cluster.pk, int(start), int(stop), names)
            for row in rows
        ]
    assert expected
    columns = [archive.table(kind, cluster.pk).column(name).to_pylist() for name in names]
    assert _sorted(list(zip(*columns, strict=True))) == _sorted(expected)


@pytest.mark.parametrize("is_compressed", [False, True])
def test_files_have_as_many_rows_as_the_tables_compressed_or_not(
    is_compressed: bool, connection: psycopg.Connection, cluster: Cluster, archive: Archive, place: Place
) -> None:
    if is_compressed:
        compress(connection)
    archive_cluster(cluster.pk, place)
    assert archive.faults(cluster.pk) == []
    assert all(archive.table(kind.name, cluster.pk).num_rows for kind in stored_kinds())


def test_files_tell_lifetimes_and_stacks_apart(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, place: Place
) -> None:
    archive_cluster(cluster.pk, place)
    workers = {row["lifetime"]: row for row in archive.table("worker", cluster.pk).to_pylist()}
    assert [workers[number]["address"] for number in sorted(workers)] == [
        address
        for (address,) in connection.execute(
            "SELECT address FROM worker WHERE cluster_id = %s ORDER BY position", [cluster.pk]
        )
    ]
    for kind in ("span", "transition", "log", "sample", "transfer"):
        for row in archive.table(kind, cluster.pk).to_pylist():
            if row["worker"] is not None:
                assert workers[row["worker_lifetime"]]["address"] == row["worker"]
    stacks = {row["stack"]: row["frames"] for row in archive.table("stack", cluster.pk).to_pylist()}
    used = {stacks[row["stack"]] for row in archive.table("profile", cluster.pk).to_pylist()}
    assert used == set(stacks.values())
    assert "main\tmain.py\t1" in used


def test_what_records_refer_to_and_kept_aggregates_are_archived(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, place: Place
) -> None:
    connection.execute(
        """INSERT INTO keyframe (cluster_id, time, until, prefixes, counts, seconds)
           SELECT %(cluster)s, now(), now(), array_agg(id ORDER BY name DESC), '{1,2}', '{0.5}'
           FROM prefix WHERE cluster_id = %(cluster)s""",
        {"cluster": cluster.pk},
    )
    body = bytes(range(256)) * 100
    connection.execute("INSERT INTO tile VALUES (%s, 'spans', 3, 77, 1, %s)", [cluster.pk, body])
    archive_cluster(cluster.pk, place)
    for table in OTHER_TABLES:
        name = "extent" if table.name == "cluster" else table.name
        [count] = connection.execute(
            f"SELECT count(*) FROM {name} WHERE cluster_id = %s", [cluster.pk]
        ).fetchone() or [0]
        assert archive.table(table.name, cluster.pk).num_rows == count, table.name
    [keyframe] = archive.table("keyframe", cluster.pk).to_pylist()
    names = archive.table("prefix", cluster.pk).column("prefix").to_pylist()
    assert keyframe["prefixes"] == sorted(names, reverse=True)
    assert (keyframe["counts"], keyframe["seconds"]) == ([1, 2], [0.5])
    assert archive.table("tile", cluster.pk).column("body").to_pylist() == [body]
    [about] = archive.table("cluster", cluster.pk).to_pylist()
    assert (about["scheduler"], about["project"]) == (cluster.scheduler_id, cluster.project.slug)


def test_a_file_says_what_it_is_and_the_catalogue_what_is_in_it(
    connection: psycopg.Connection, cluster: Cluster, folder: Path, place: Place
) -> None:
    archive_cluster(cluster.pk, place)
    [piece] = [each for each in catalogue.pieces(connection, cluster.pk) if each.kind == "span"]
    metadata = pq.read_metadata(folder / piece.path)
    about = metadata.metadata[b"observatory"].decode()
    assert '"format": 2' in about
    assert f'"cluster": "{cluster.scheduler_id}"' in about
    assert (piece.rows, piece.bytes) == (metadata.num_rows, (folder / piece.path).stat().st_size)
    assert (piece.first.timestamp(), piece.last.timestamp()) == (START - 20, STOP + 20 + 2)  # type: ignore[union-attr]
    assert piece.statistics["worker"] == [FIRST, FIRST]
    assert piece.statistics["key"][0] <= KEY <= piece.statistics["key"][1]
    assert piece.path.startswith(f"span/project={cluster.project.slug}/cluster=")


def test_rows_are_sorted_and_keys_have_a_filter(
    cluster: Cluster, archive: Archive, place: Place, folder: Path
) -> None:
    archive_cluster(cluster.pk, place)
    spans = archive.table("span", cluster.pk).to_pylist()
    order = [(row["prefix"], row["key"], row["start"]) for row in spans]
    assert order == sorted(order)
    samples = archive.table("sample", cluster.pk).to_pylist()
    assert [row["metric"] for row in samples] == sorted(row["metric"] for row in samples)
    [path] = archive.paths(cluster.pk)["span"]
    group = pq.read_metadata(folder / path).row_group(0)
    assert [group.column(each.column_index).path_in_schema for each in group.sorting_columns] == [
        "prefix",
        "key",
        "start",
    ]


def test_columns_have_the_encodings_that_suit_them(
    cluster: Cluster, archive: Archive, place: Place, folder: Path
) -> None:
    archive_cluster(cluster.pk, place)
    wanted = {
        ("span", "key"): "DELTA_BYTE_ARRAY",
        ("span", "start"): "BYTE_STREAM_SPLIT",
        ("span", "prefix"): "RLE_DICTIONARY",
        ("sample", "value"): "BYTE_STREAM_SPLIT",
        ("sample", "metric"): "RLE_DICTIONARY",
        ("sample", "labels"): "RLE_DICTIONARY",
    }
    for (kind, name), encoding in wanted.items():
        metadata = pq.read_metadata(folder / archive.paths(cluster.pk)[kind][0])
        place_of = metadata.schema.to_arrow_schema().get_field_index(name)
        column = metadata.row_group(0).column(place_of)
        assert (column.path_in_schema, column.compression) == (name, "ZSTD")
        assert encoding in column.encodings, (kind, name, column.encodings)


def test_archiving_rests_four_times_as_long_as_it_worked_while_a_cluster_is_live(
    cluster: Cluster, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    monkeypatch.setattr(pace, "sleep", rests.append)
    Cluster.objects.filter(ended=None).update(ended=cluster.ended)
    archive_round()
    assert rests == []
    with connect() as connection:
        archive_again(required_place())
        Cluster.objects.filter(pk=world.live.pk).update(ended=None)
        archive_round()
        assert waiting_clusters(connection) == []
    assert sum(rests) > 0
    assert max(rests) <= pace.LONGEST_REST
    Pace(shares=True).rest(0.5)
    assert rests[-1] == 2.0


def test_days_are_files_and_many_rows_are_row_groups_in_order_of_time(
    connection: psycopg.Connection,
    cluster: Cluster,
    archive: Archive,
    place: Place,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stretches, "ROWS_OF_A_GROUP", 500)
    monkeypatch.setattr(archiving, "ROWS_OF_A_GROUP", 500)
    monkeypatch.setattr(stretches, "ROWS_OF_A_FILE", 2_000)
    series = Series("many")
    day = START // 86_400 * 86_400 + 3 * 86_400
    times = [day + second * 10 for second in range(6_000)]
    with Writer() as writer:
        # a minute with more rows than a row group
        times += [day + 3600 + part / 1000 for part in range(1_700)]
        writer.write(Batch.of(cluster.pk, samples=[Sample(series, time, time) for time in times]))
    archive_cluster(cluster.pk, place)
    files = [
        piece
        for piece in catalogue.pieces(connection, cluster.pk)
        if piece.kind == "sample" and piece.start >= datetime.fromtimestamp(day, UTC)
    ]
    assert len(files) >= 3
    assert files[0].start == datetime.fromtimestamp(day, UTC)
    assert files[-1].stop == files[0].start + timedelta(days=1)
    assert [piece.start for piece in files[1:]] == [piece.stop for piece in files[:-1]]
    assert sum(piece.rows for piece in files) == len(times)
    ends = []
    for piece in files:
        metadata = pq.read_metadata(folder / piece.path)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            assert group.num_rows <= 500
            [statistics] = [
                group.column(column).statistics
                for column in range(group.num_columns)
                if group.column(column).path_in_schema == "time"
            ]
            ends.append((statistics.min, statistics.max))
    assert ends == sorted(ends)
    assert archive.faults(cluster.pk) == []


def test_late_records_have_the_files_of_their_day_and_kind_written_again(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, place: Place
) -> None:
    archive_cluster(cluster.pk, place)
    assert waiting_clusters(connection) == []
    before = archive.paths(cluster.pk)
    with Writer() as writer:
        late = (START + 3, "scheduler", "", 20, "distributed.core", "it was late", "", 1)
        writer.write(Batch.of(cluster.pk, rows={"log": [late]}, head=next_head(connection, cluster)))
    assert waiting_clusters(connection) == [cluster.pk]
    assert archive_cluster(cluster.pk, place) is not None
    after = archive.paths(cluster.pk)
    records = {kind.name for kind in stored_kinds()}
    assert {kind for kind in records if before[kind] != after[kind]} == {"log"}
    assert "it was late" in archive.table("log", cluster.pk).column("message").to_pylist()
    assert archive.files() == sorted(path for paths in after.values() for path in paths)
    assert archive.faults(cluster.pk) == []
    assert waiting_clusters(connection) == []


def test_a_process_that_is_killed_at_any_moment_loses_and_doubles_nothing(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, place: Place
) -> None:
    expected: dict[str, int] = {}
    for kind in stored_kinds():
        [expected[kind.name]] = connection.execute(
            f"SELECT count(*) FROM {kind.name} WHERE cluster_id = %s", [cluster.pk]
        ).fetchone() or [0]
    operations = kills = 0
    while killed(lambda: archive_cluster(cluster.pk, place), OPERATIONS, operations):
        operations, kills = operations + 1 + operations // 4, kills + 1
        by_kind: dict[str, int] = {}
        for piece in catalogue.pieces(connection, cluster.pk):
            assert place.checksum(piece.path) == piece.checksum
            by_kind[piece.kind] = by_kind.get(piece.kind, 0) + piece.rows
        assert all(by_kind.get(kind, 0) in (0, rows) for kind, rows in expected.items())
    assert kills > 10
    assert archive.faults(cluster.pk) == []
    assert archive.files() == sorted(path for paths in archive.paths(cluster.pk).values() for path in paths)
    assert waiting_clusters(connection) == []


def test_one_process_archives_a_cluster_at_a_time(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, place: Place
) -> None:
    with try_lock(connection, cluster.pk, ARCHIVE):
        assert archive_cluster(cluster.pk, place) is None
        assert archive_round().files == 0
    assert archive_round().files > 0
    assert archive.faults(cluster.pk) == []


def test_a_round_whose_time_is_over_is_gone_on_with(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, place: Place
) -> None:
    assert archive_cluster(cluster.pk, place, Pace(until=0)) == archiving.Archived()
    assert waiting_clusters(connection) == [cluster.pk]
    assert archive_cluster(cluster.pk, place) is not None
    assert archive.faults(cluster.pk) == []


def test_only_clusters_that_ended_long_enough_ago_are_archived(
    connection: psycopg.Connection, cluster: Cluster, world: World, folder: Path
) -> None:
    with Writer() as writer:
        writer.write(Batch.of(world.live.pk, events=[Event(START, "restarted")]))
    assert waiting_clusters(connection) == [cluster.pk]
    assert waiting_clusters(connection, timedelta(days=36_500)) == []


def test_nothing_is_archived_without_the_setting(
    connection: psycopg.Connection, cluster: Cluster, settings: LazySettings
) -> None:
    settings.ARCHIVE = ""
    archive_clusters()
    assert catalogue.pieces(connection) == []


def test_celery_archives_what_waits_and_the_progress_says_so(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, folder: Path
) -> None:
    assert read_progress(connection).waiting == 1
    archive_clusters()
    progress = read_progress(connection)
    assert (progress.waiting, progress.archived, progress.leftovers) == (0, 1, 0)
    assert progress.files == len(archive.files())
    assert progress.bytes == sum((folder / path).stat().st_size for path in archive.files())


def test_a_lost_archive_is_written_again_when_somebody_says_so(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, place: Place, folder: Path
) -> None:
    archive_round()
    folder.rename(folder.with_name("lost"))
    folder.mkdir()
    archive_clusters()
    assert archive.files() == []
    archive_again(place)
    archive_round()
    assert (folder / MARK).exists()
    assert archive.faults(cluster.pk) == []


def test_a_cluster_without_a_usable_name_has_a_folder_of_its_own(
    connection: psycopg.Connection, cluster: Cluster, archive: Archive, place: Place, folder: Path
) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(scheduler_id="../../../é" + "/%00" * 45)
    archive_cluster(cluster.pk, place)
    assert archive.faults(cluster.pk) == []
    assert all(path.is_relative_to(folder) for path in folder.parent.rglob("*.parquet"))


def test_keys_are_put_together_and_ordered_as_one_by_one() -> None:
    groups = ["", "a", "load-1", "é", "load"]
    texts = ["('load-1', 0)", "load", "a", "1", "('é', 'é')", "x\ny", "", "('load-1', 10)", "loader"]
    keys = [(text, place) for text in texts for place in range(len(groups))] * 2
    rests = encode_keys([text for text, _ in keys], [groups[place] for _, place in keys])
    order = sorted(range(len(groups)), key=groups.__getitem__)
    codes = np.array([order.index(place) for _, place in keys], np.int32)
    found = keys_of(pa.chunked_array([rests[:7], rests[7:]]), Coded(codes, pa.array(sorted(groups))))
    names = found.names.to_pylist()
    assert names == sorted(set(texts))
    assert [names[code] for code in found.codes.tolist()] == [text for text, _ in keys]
