"""The state of an archived cluster at an instant is read from few rows of its files."""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.cache import cache

from observatory.clusters.models import Cluster
from observatory.replay import scanned_state as scanning
from observatory.replay.scanned_state import scanned_state
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.replay.tiles import scanned_rows
from observatory.replay.tiles.builder import get_tile
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.store.archive import needed, presence
from observatory.store.archive.files import stretches
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect, connect_reader
from observatory.store.maintenance import keyframes
from observatory.store.maintenance.keyframes import make_keyframes
from observatory.store.queries.extents import read_extent
from observatory.store.queries.timeline import snapshot
from observatory.store.reading import scanned_instants
from observatory.store.reading import scanning as scanning_rows
from observatory.store.times import from_seconds, seconds_to_microseconds
from tests.store.archive.conftest import remove_unused
from tests.store.archive.scans.state_history import (
    CAME_AT,
    ENDED_AT,
    SECONDS,
    SILENT_AT,
    START,
    TOTALS_UNTIL,
    write_state_history,
)
from tests.support.projects import World

KINDS = ("event", "sample", "span", "transition")
LAYERS = ("spans", "prefixes", "events", "profile", "memory", "gil", "states", "spans.each")
EDGES = (SILENT_AT, ENDED_AT, CAME_AT, TOTALS_UNTIL, 0, SECONDS, 5, 5.2, 15.3)


@pytest.fixture
def cluster(connection: psycopg.Connection, world: World, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(stretches, "ROWS_OF_A_GROUP", 400)
    monkeypatch.setattr(stretches, "ROWS_OF_A_FILE", 2_000)
    monkeypatch.setattr(keyframes, "MANY_RECORDS", 200)
    found = world.ended
    write_state_history(found.pk)
    found.started, found.ended = from_seconds(START - 10), from_seconds(START + SECONDS + 400)
    found.save()
    extent = read_extent(connection, found.pk)
    assert extent is not None
    assert make_keyframes(connection, extent, seconds_to_microseconds(extent.last)) > 10
    return found


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The kinds that were to come back, each time; they do not."""
    found: list[set[str]] = []
    for module in (scanning, scanned_rows):
        monkeypatch.setattr(module, "bring_back_meanwhile", lambda cluster, kinds: found.append(set(kinds)))
    return found


def instants(number: int) -> list[int]:
    chance = random.Random(3)
    seconds = [*EDGES, *(chance.uniform(-20, SECONDS + 500) for _ in range(number))]
    return [0, *(seconds_to_microseconds(START + second) for second in seconds)]


def scopes(cluster: Cluster) -> dict[str, Scope]:
    def window(first: float, last: float, is_public: bool = False) -> Scope:
        edges = seconds_to_microseconds(START + first), seconds_to_microseconds(START + last)
        return Scope(cluster, *edges, is_public=is_public)

    return {
        "all": Scope(cluster),
        "a window": window(1_200, 2_600),
        "a short window": window(500, 503),
        "until a sample": window(300, 900),
        "a public window": window(1_000, 3_000, is_public=True),
    }


def test_states_of_archived_clusters_are_those_of_their_rows(
    connection: psycopg.Connection, cluster: Cluster, folder: Path, wanted: list[set[str]]
) -> None:
    asked = [
        (name, scope, at)
        for name, scope in scopes(cluster).items()
        for at in instants(20 if scope.is_whole else 2)
    ]
    with connect_reader() as reader:
        expected = [_state(reader, scope, at) for _, scope, at in asked]
    _archive(connection, cluster)
    removed = set(presence.removed_kinds(connection, cluster.pk))
    assert removed >= set(KINDS)
    wanted.clear()
    back = Counter[str]()
    with connect_reader() as reader:
        for (name, scope, at), state in zip(asked, expected, strict=True):
            assert _state(reader, scope, at) == state, (name, at / 1e6 - START)
            if presence.removed_kinds(connection, cluster.pk) != sorted(removed):
                back[name] += 1
                remove_unused(connection, cluster.pk)
    # there tasks are told apart that had finished before the window, of all transitions in it
    assert set(back) <= {name for name, scope in scopes(cluster).items() if not scope.is_whole}
    assert back["a window"]
    assert set(KINDS) in wanted


def _state(connection: psycopg.Connection, scope: Scope, at: int) -> dict[str, Any]:
    with snapshot(connection), scanned_state(connection, scope, at):
        return state_at(connection, scope, at)


def _archive(connection: psycopg.Connection, cluster: Cluster) -> None:
    archive_round(seconds=3_600)
    assert remove_unused(connection, cluster.pk) > 0


def test_rows_come_back_for_who_looks_at_further_instants(
    connection: psycopg.Connection,
    cluster: Cluster,
    world: World,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _archive(connection, cluster)
    client, page = world.client("owner"), f"/api/v1/clusters/{cluster.pk}"
    cache.delete(scanning_rows.visit_key(cluster.pk))

    def left() -> set[str]:
        return set(KINDS) & set(presence.removed_kinds(connection, cluster.pk))

    for at in (START + 100, START + 2_000):  # a page that is opened reads several parts at once
        assert client.get(f"{page}/state?at={at}").status_code == 200
    assert left() == set(KINDS)
    monkeypatch.setattr(scanning_rows, "OPENING", 0)
    answer = client.get(f"{page}/state?at={START + 1_000}").json()
    for thread in threading.enumerate():
        if thread.name == f"fetch-{cluster.pk}":
            thread.join()
    assert left() == set()
    needed.forget()
    assert client.get(f"{page}/state?at={START + 1_000}").json() == answer


def test_rows_come_back_where_reading_the_last_samples_takes_long(
    connection: psycopg.Connection, cluster: Cluster, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = seconds_to_microseconds(START + 1_000)
    with connect_reader() as reader:
        expected = _state(reader, Scope(cluster), at)
    _archive(connection, cluster)
    monkeypatch.setattr(scanned_instants, "LONGEST", -1.0)
    with connect_reader() as reader:
        assert _state(reader, Scope(cluster), at) == expected
    assert "sample" not in presence.removed_kinds(connection, cluster.pk)


def tiles_of(connection: psycopg.Connection, scope: Scope) -> dict[tuple[str, TileId], bytes]:
    """Those of few and of many rows, of some instants; none is cached."""
    found = {}
    for layer in map(Layer.parse, LAYERS):
        for level in (14, 18, 24, 27):
            for second in (3, 1_234, SECONDS - 2):
                tile = TileId.at(level, seconds_to_microseconds(START + second))
                with connect() as other:
                    other.execute("DELETE FROM tile WHERE cluster_id = %s", [scope.cluster.pk])
                found[str(layer), tile] = get_tile(connection, scope, layer, tile).body
    return found


@pytest.mark.parametrize("name", ["all", "a window"])
def test_tiles_of_archived_clusters_are_those_of_their_rows(
    connection: psycopg.Connection, cluster: Cluster, folder: Path, wanted: list[set[str]], name: str
) -> None:
    scope = scopes(cluster)[name]
    with connect_reader() as reader:
        expected = tiles_of(reader, scope)
    _archive(connection, cluster)
    removed = set(presence.removed_kinds(connection, cluster.pk))
    with connect_reader() as reader:
        found = tiles_of(reader, scope)
    assert set(presence.removed_kinds(connection, cluster.pk)) == removed, "rows were brought back for tiles"
    assert [key for key in expected if found[key] != expected[key]] == []
    assert {kind for kinds in wanted for kind in kinds} >= {"span", "sample", "event"}
