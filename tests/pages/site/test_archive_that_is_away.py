from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.conf import LazySettings

from observatory.clusters.models import Cluster
from observatory.store.archive.round import archive_round
from observatory.store.connection import is_unavailable
from tests.exchange.everything import START
from tests.store.archive.conftest import cluster, connection, folder, remove_unused
from tests.support.projects import World, world

__all__ = ["cluster", "connection", "folder", "world"]


@pytest.fixture
def away(connection: psycopg.Connection, cluster: Cluster, folder: Path, settings: LazySettings) -> Path:
    """The folder's place while it is away; the cluster's records are in it alone."""
    settings.ARCHIVE_REMOVES_ROWS_AFTER = timedelta(days=1)
    archive_round()
    assert remove_unused(connection, cluster.pk) > 0
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
