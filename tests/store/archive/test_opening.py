"""An archived cluster's or run's page is opened while its records stay in the archive."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.conf import LazySettings

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.tasks import build_cluster
from observatory.replay.tiles.builder import covering_tile_ids, get_tile
from observatory.replay.tiles.layers import LAYER_NAMES, Layer
from observatory.store.archive import presence
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import read_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.progress import computing_seconds
from observatory.store.reading import scanning
from observatory.store.times import MAXIMUM_TIME
from observatory.wire.layers import SPANS
from observatory.wire.records import Action, Span, WorkerSeen
from tests.store.archive.conftest import remove_unused
from tests.store.archive.long_history import FIRST, START, STEP, STEPS
from tests.store.archive.test_answers import answers
from tests.support.projects import World, make_run

STOP = START + STEPS * STEP
HOUR = 3_600


def tiles_of(first: float, last: float) -> list[str]:
    """Those that a page of a window (seconds) asks first, as in its requests."""
    tile_ids = covering_tile_ids(first, last)
    return [f"{layer}/{tile.level}/{tile.index}" for layer in LAYER_NAMES for tile in tile_ids]


@pytest.fixture(params=["a cluster", "a run"])
def opened(request: pytest.FixtureRequest, recorded: Cluster) -> tuple[str, str, list[str]]:
    """A page, the path of its requests, and the tiles among them."""
    if request.param == "a cluster":
        return f"/clusters/{recorded.pk}/", f"/api/v1/clusters/{recorded.pk}", tiles_of(START, STOP)
    run = make_run(recorded, at=60, minutes=120)
    start = run.start.timestamp()
    return f"/runs/{run.pk}/", f"/api/v1/runs/{run.pk}/timeline", tiles_of(start, start + 2 * HOUR)


def leave(connection: psycopg.Connection, cluster: Cluster) -> None:
    """Have the records in the archive alone."""
    archive_round(seconds=HOUR)
    assert remove_unused(connection, cluster.pk) > 0


def test_a_page_that_is_opened_brings_nothing_back(
    opened: tuple[str, str, list[str]],
    connection: psycopg.Connection,
    recorded: Cluster,
    world: World,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scanning, "OPENING", 1e9)  # nor do rows come back for who looks on
    page, api, tiles = opened
    asked = [page, api, f"{api}/lanes", *(f"{api}/tiles/{tile}" for tile in tiles)]
    if "clusters" in api:  # the run's is of tasks of before that begin again, which all transitions tell
        asked.append(f"{api}/state?at={STOP}")
    client = world.client("owner")
    expected = answers(client, asked)
    assert {path: status for path, (status, _) in expected.items() if status != 200} == {}
    leave(connection, recorded)
    connection.execute("DELETE FROM tile WHERE cluster_id = %s", [recorded.pk])
    removed = presence.removed_kinds(connection, recorded.pk)
    for path in asked:
        assert answers(client, [path])[path] == expected[path], path
        assert presence.removed_kinds(connection, recorded.pk) == removed, path


def test_tiles_that_were_made_of_files_are_kept_where_a_page_shows_them_first(
    opened: tuple[str, str, list[str]],
    connection: psycopg.Connection,
    recorded: Cluster,
    world: World,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leave(connection, recorded)
    _, api, tiles = opened
    client, asked = world.client("owner"), [f"{api}/tiles/{tile}" for tile in tiles]
    expected = answers(client, asked)
    monkeypatch.setattr(scanning, "of_files", lambda *arguments: pytest.fail("files were read"))
    assert answers(client, asked) == expected


def test_no_file_is_read_for_a_tile_that_is_kept(
    connection: psycopg.Connection,
    recorded: Cluster,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leave(connection, recorded)
    scope, layer = Scope(recorded), Layer(SPANS)
    [tile_id, *_] = covering_tile_ids(START, STOP)
    with read_connection() as reader:
        made = get_tile(reader, scope, layer, tile_id)
        monkeypatch.setattr(scanning, "of_files", lambda *arguments: pytest.fail("files were read"))
        assert get_tile(reader, scope, layer, tile_id) == made


def test_what_a_cluster_shows_first_is_built_before_its_rows_leave(
    connection: psycopg.Connection,
    recorded: Cluster,
    world: World,
    folder: Path,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.ARCHIVE_REMOVES_ROWS_AFTER = timedelta(days=1)
    page = f"/api/v1/clusters/{recorded.pk}"
    client, asked = (
        world.client("owner"),
        [f"{page}/lanes", *(f"{page}/tiles/{tile}" for tile in tiles_of(START, STOP))],
    )
    lanes = client.get(asked[0]).json()
    build_cluster(connection, recorded)
    leave(connection, recorded)
    monkeypatch.setattr(scanning, "of_files", lambda *arguments: pytest.fail("files were read"))
    found = answers(client, asked)
    assert {path: status for path, (status, _) in found.items() if status != 200} == {}
    assert json.loads(found[asked[0]][1]) == lanes
    of_each_layer = {layer for (layer,) in connection.execute("SELECT DISTINCT layer FROM tile").fetchall()}
    assert of_each_layer >= {"spans", "prefixes", "events", "memory"}


def test_records_that_come_later_count_in_the_seconds_of_a_whole_cluster(
    connection: psycopg.Connection, world: World
) -> None:
    cluster = world.ended
    seen = [WorkerSeen(FIRST, "w0", "10.0.0.1", 2, 2**33, START - 8, "running", {}, {})]
    first, second = (
        Span(FIRST, 1, f"{name}-1", name, name, Action.COMPUTE, START, START + seconds, 8, "int")
        for name, seconds in (("inc", 2), ("later", 0.25))
    )
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, seen, [first], committed=START + 2))
        build_cluster(connection, cluster)
        [inc] = computing_seconds(connection, cluster.pk, 0, MAXIMUM_TIME).items()
        # not late: the half minute before `committed` is not settled
        writer.write(Batch.of(cluster.pk, spans=[second]))
    found = computing_seconds(connection, cluster.pk, 0, MAXIMUM_TIME)
    assert sorted(found.values()) == [0.25, 2]
    assert inc in found.items()
