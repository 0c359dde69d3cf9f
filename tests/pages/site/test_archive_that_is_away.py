from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.conf import LazySettings

from observatory.clusters.models import Cluster
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import is_unavailable
from observatory.store.places import scan_places
from observatory.store.places.askers import ASKER, Asker
from observatory.store.places.shares import Shares
from tests.exchange.everything import START
from tests.store.archive.conftest import cluster, connection, folder, remove_unused
from tests.support.projects import World, world

__all__ = ["cluster", "connection", "folder", "world"]


@pytest.fixture
def archived(connection: psycopg.Connection, cluster: Cluster, folder: Path, settings: LazySettings) -> None:
    """The cluster's records are in the archive alone."""
    settings.ARCHIVE_REMOVES_ROWS_AFTER = timedelta(days=1)
    archive_round()
    assert remove_unused(connection, cluster.pk) > 0


@pytest.fixture
def away(archived: None, folder: Path) -> Path:
    """The folder's place while it is away."""
    return folder.rename(folder.with_name("away"))


def test_pages_and_api_say_that_the_archive_is_away_and_show_all_once_it_is_back(
    world: World, cluster: Cluster, folder: Path, away: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = world.client("owner")
    client.raise_request_exception = False
    page, answer = f"/clusters/{cluster.pk}/errors/", f"/api/v1/clusters/{cluster.pk}/state?at={START + 5}"
    shown = client.get(page)
    assert (shown.status_code, shown.headers["Retry-After"]) == (503, "5")
    assert b"The archive is away" in shown.content
    assert b"They are not lost" in shown.content
    found = client.get(answer)
    assert found.status_code == 503
    assert "The archive is away" in found.json()["detail"]
    records = [record for record in caplog.records if record.name == "django.request"]
    assert {(record.levelname, record.exc_info) for record in records} == {("WARNING", None)}
    away.rename(folder)
    assert b"ValueError" in client.get(page).content
    assert client.get(answer).status_code == 200


def test_reading_what_is_archived_may_be_tried_again(cluster: Cluster, away: Path) -> None:
    with pytest.raises(Exception, match="Mount the folder") as error:
        archive_round()
    assert is_unavailable(error.value)


def test_a_page_whose_search_has_to_wait_says_so_and_looks_again(
    world: World, cluster: Cluster, archived: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = world.client("owner")
    client.raise_request_exception = False
    page = f"/clusters/{cluster.pk}/logs/?text=x"
    assert client.get(page).status_code == 200
    monkeypatch.setattr(scan_places, "shares", Shares(places=0, waiting=1, timeout=0.01))
    asker = ASKER.set(Asker("a session"))
    try:
        shown = client.get(page)
    finally:
        ASKER.reset(asker)
    assert (shown.status_code, shown.headers["Retry-After"], shown.headers["Refresh"]) == (503, "5", "5")
    assert b"Your search is waiting" in shown.content
