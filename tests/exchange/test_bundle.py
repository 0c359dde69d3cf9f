"""A bundle holds all of a run and nothing else, and becomes the same run in another project, row for row."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.exchange.bundles.bundle import Bundle
from observatory.exchange.formats import FORMATS
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.exchange.imports.refusal import AlreadyHere
from observatory.replay.scope import ALL_SECTIONS, Scope, Section
from observatory.runs.models import Note, Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.windows.totals import window_totals
from observatory.store.schema.dimensions import Table
from observatory.store.times import from_seconds
from observatory.store.transfer import extracts
from observatory.store.transfer.extract_tables import record_tables, tables
from observatory.wire.blocks import BlockError, decode, encode, number_column
from tests.exchange.everything import START, STOP
from tests.exchange.files import Store, export
from tests.support.projects import World


def rows_in(path: Path) -> dict[str, list[Any]]:
    """The rows of each table, what they refer to in place of its id, in an order that is their own."""
    named: dict[str, dict[int, Any]] = {}
    rows: dict[str, list[Any]] = {}
    with Bundle(path) as bundle:
        for table in tables():
            found = [row for block in bundle.read(table) for row in _rows(table, block, named)]
            if not table.time:
                named[table.name] = {0: None, **{row[0]: row[1:] for row in found}}
                found = [row[1:] for row in found]
            rows[table.name] = sorted(found, key=repr)
    return rows


def _rows(table: Table, block: Any, named: dict[str, dict[int, Any]]) -> list[tuple[Any, ...]]:
    columns = []
    for column in table.columns:
        values = block.list(column.name)
        if column.refers:
            values = [named[column.refers][value] for value in values]
        columns.append([str(value) if value != value else value for value in values])
    return list(zip(*columns, strict=True))


def nothing(done: float) -> None:
    pass


def test_what_was_imported_is_exported_again_the_same_in_every_row_of_every_table(
    run: Run, bundle: Path, world: World, tmp_path: Path
) -> None:
    imported = import_file(bundle, Destination(world.beta), nothing)
    again = export(imported, tmp_path / "again.zip")
    before, after = rows_in(bundle), rows_in(again)
    for table in tables():
        assert before[table.name], table.name
        assert after[table.name] == before[table.name], table.name


def test_what_is_of_other_times_is_not_in_it(bundle: Path) -> None:
    rows = rows_in(bundle)
    for table in record_tables():
        names = [column.name for column in table.columns]
        start, stop = names.index(table.time), names.index(table.stop or table.time)
        assert all(row[start] < STOP and row[stop] >= START for row in rows[table.name]), table.name
    assert {row[0] for row in rows["worker"]} == {"tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000"}
    assert {row[0] for row in rows["prefix"]} == {"sum", "load", "over-the-edge"}
    assert b"of another run" not in zipfile.ZipFile(bundle).read("manifest.json")
    # the first worker left after the run: that isn't told, nor when
    assert [row[3] for row in rows["worker"]] == ["", "lost"]


def test_the_run_comes_with_its_name_tags_notes_and_facts(run: Run, bundle: Path, world: World) -> None:
    imported = import_file(bundle, Destination(world.beta, world.people["outsider"]), nothing)
    assert (imported.name, imported.tags, imported.user) == ("nightly etl", {"git": "3f2a1c"}, "lovelace")
    assert (imported.start, imported.stop, imported.code) == (run.start, run.stop, run.code)
    assert (imported.origin, imported.outcome, imported.pinned) == ("imported", "erred", True)
    assert (imported.tasks, imported.figures["workers"]) == (5, 2)
    assert imported.created_by == world.people["outsider"]
    cluster = imported.cluster
    assert (cluster.name, cluster.address, cluster.project) == ("evening", "tcp://10.0.0.2:8786", world.beta)
    assert not cluster.is_live
    (note,) = Note.objects.filter(cluster=cluster)
    assert (note.text, note.author) == ("here it began to spill", None)


def test_its_figures_are_those_of_the_run(
    run: Run, bundle: Path, world: World, connection: psycopg.Connection
) -> None:
    assert run.stop is not None
    imported = import_file(bundle, Destination(world.beta), nothing)
    before = window_totals(connection, run.cluster_id, run.start, run.stop)
    assert before.tasks > 0
    assert window_totals(connection, imported.cluster_id, run.start, run.stop) == before


def test_a_member_opens_it_as_any_other(bundle: Path, world: World) -> None:
    cluster = import_file(bundle, Destination(world.beta), nothing).cluster_id
    client = world.client("outsider")
    recorded = client.get(f"/api/v1/clusters/{cluster}").json()
    assert (recorded["has_agent"], recorded["ended"], recorded["task_count"]) == (True, STOP, 5)
    assert (recorded["worker_count"], recorded["error_count"]) == (2, 2)
    state = client.get(f"/api/v1/clusters/{cluster}/state?at={START + 35}").json()
    assert {item["name"]: item["done"] for item in state["progress"]} == {"sum": 2}
    level = 20
    index = int(START * 1e6) // (512 << level)
    tile = client.get(f"/api/v1/clusters/{cluster}/tiles/spans/{level}/{index}")
    assert tile.status_code == 200
    assert client.get(f"/clusters/{cluster}/errors/").status_code == 200


def test_imported_twice_it_is_there_already(bundle: Path, world: World, store: Store) -> None:
    imported = import_file(bundle, Destination(world.beta), nothing)
    before = store.counts()
    with pytest.raises(AlreadyHere) as refusal:
        import_file(bundle, Destination(world.beta), nothing)
    assert refusal.value.run == imported.pk
    assert store.counts() == before
    # another project may have it too
    assert import_file(bundle, Destination(world.alpha), nothing).cluster.project == world.alpha


def test_a_run_of_a_cluster_without_records_becomes_one_too(
    world: World, tmp_path: Path, store: Store
) -> None:
    empty = Run.objects.create(
        cluster=world.live, name="empty", start=world.live.started, stop=world.live.last_seen
    )
    imported = import_file(export(empty, tmp_path / "x"), Destination(world.beta), nothing)
    assert imported.name == "empty"


def test_many_rows_come_in_blocks_of_a_bounded_size(
    run: Run, tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rows_in(export(run, tmp_path / "whole"))
    monkeypatch.setattr(extracts, "MOST_ROWS", 2)
    monkeypatch.setattr(extracts, "FETCHED", 2)
    monkeypatch.setattr(extracts, "FETCHED_LONG", 1)
    path = export(run, tmp_path / "parts")
    with Bundle(path) as bundle:
        sizes = {table.name: [block.rows for block in bundle.read(table)] for table in tables()}
    assert sizes["span"] == [2, 2, 2, 1]
    assert rows_in(path) == whole
    import_file(path, Destination(world.beta), nothing)


@pytest.mark.parametrize("part", list(Section))
def test_what_a_scope_hides_is_not_in_its_bundle(
    run: Run, part: Section, tmp_path: Path, world: World
) -> None:
    assert run.stop is not None
    window = round(run.start.timestamp() * 1e6), round(run.stop.timestamp() * 1e6)
    scope = Scope(run.cluster, *window, sections=ALL_SECTIONS - {part}, is_public=True)
    file = io.BytesIO()
    FORMATS["bundle"].write(scope, run.name, file, nothing)
    path = tmp_path / "hidden.zip"
    path.write_bytes(file.getvalue())
    text = b"".join(map(zipfile.ZipFile(path).read, zipfile.ZipFile(path).namelist()))
    secrets = {
        Section.LOGS: [b"it is warm"],
        Section.CODE: [b"sum(x)", b"main.py", b"with observatory.run"],
        Section.TRACEBACKS: [b"Traceback", b"more"],
    }
    for hidden, words in secrets.items():
        for word in words:
            assert (word in text) == (hidden != part), word
    assert b"lovelace" not in text
    assert b"began to" not in text
    import_file(path, Destination(world.beta), nothing)


def test_the_manifest_says_what_is_in_it_in_plain_words(bundle: Path) -> None:
    manifest = json.loads(zipfile.ZipFile(bundle).read("manifest.json"))
    assert (manifest["format"], manifest["version"]) == ("dask-observatory-bundle", 1)
    assert manifest["run"]["name"] == "nightly etl"
    assert manifest["parts"].keys() == {table.name for table in tables()}
    assert manifest["parts"]["span"]["rows"] == 7
    assert Cluster.objects.count() == 3


def test_i64_columns_hold_what_no_float_does() -> None:
    (block,) = decode(encode("x", 2, [number_column("a", "i64", [2**63 - 1, -(2**63)])]))
    assert block.list("a") == [2**63 - 1, -(2**63)]
    with pytest.raises(BlockError):
        encode("x", 1, [number_column("a", "i64", [1, 2])])


def test_long_texts_make_short_blocks_that_can_be_read_again(
    connection: psycopg.Connection, world: World, tmp_path: Path
) -> None:
    long = "🙂" * 100_000  # 12 bytes each in the block's header
    rows = [(START + index, "scheduler", "", 20, "x", str(index), long[index:], 1) for index in range(50)]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, rows={"log": rows}))
    run = Run.objects.create(
        cluster=world.ended, name="long", start=from_seconds(START), stop=from_seconds(STOP)
    )
    path = export(run, tmp_path / "long")
    with Bundle(path) as bundle:
        (log,) = (table for table in tables() if table.name == "log")
        blocks = [block.rows for block in bundle.read(log)]
    assert sum(blocks) == 50
    assert max(blocks) <= 41
    import_file(path, Destination(world.beta), nothing)
