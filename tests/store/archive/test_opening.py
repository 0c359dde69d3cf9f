"""An archived cluster's or run's page is opened while its records stay in the archive."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.tiles.builder import covering_tile_ids
from observatory.replay.tiles.layers import LAYER_NAMES
from observatory.store.archive import presence
from observatory.store.archive.rounds.round import archive_round
from observatory.store.reading import scanning
from tests.store.archive.conftest import remove_unused
from tests.store.archive.long_history import START, STEP, STEPS
from tests.store.archive.test_answers import answers
from tests.support.projects import World, make_run

STOP = START + STEPS * STEP
HOUR = 3_600


@pytest.mark.parametrize("opened", ["a cluster", "a run"])
def test_a_page_that_is_opened_brings_nothing_back(
    opened: str,
    connection: psycopg.Connection,
    recorded: Cluster,
    world: World,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scanning, "OPENING", 1e9)  # nor do rows come back for who looks on
    run = make_run(recorded, at=HOUR / 60, minutes=120)
    if opened == "a cluster":
        page, api, first, last = f"/clusters/{recorded.pk}/", f"/api/v1/clusters/{recorded.pk}", START, STOP
    else:
        first, last = run.start.timestamp(), run.start.timestamp() + 2 * HOUR
        page, api = f"/runs/{run.pk}/", f"/api/v1/runs/{run.pk}/timeline"
    tiles = [
        f"{layer}/{tile.level}/{tile.index}"
        for layer in LAYER_NAMES
        for tile in covering_tile_ids(first, last)
    ]
    asked = [
        page,
        api,
        f"{api}/lanes",
        *(f"{api}/tiles/{tile}" for tile in tiles),
    ]
    if opened == "a cluster":  # here tasks of before the run begin again in it, which all transitions tell
        asked.append(f"{api}/state?at={last}")
    client = world.client("owner")
    expected = answers(client, asked)
    assert {path: status for path, (status, _) in expected.items() if status != 200} == {}
    archive_round(seconds=HOUR)
    assert remove_unused(connection, recorded.pk) > 0
    connection.execute("DELETE FROM tile WHERE cluster_id = %s", [recorded.pk])
    removed = presence.removed_kinds(connection, recorded.pk)
    back = {}
    for path in asked:
        assert answers(client, [path])[path] == expected[path], path
        if missing := set(removed) - set(presence.removed_kinds(connection, recorded.pk)):
            back[path] = missing
            remove_unused(connection, recorded.pk)
    assert back == {}
