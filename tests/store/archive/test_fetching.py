"""A request that needs archived rows waits for a while, then says how far they are; they come meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event as Flag

import psycopg
import pytest
from django.test import RequestFactory

from observatory.clusters.models import Cluster
from observatory.config.http.handler import PATIENCE_OF_PAGES, PATIENCE_OF_PROGRAMS, patience
from observatory.store.archive import presence
from observatory.store.archive.errors import ArchiveError, BeingFetched
from observatory.store.archive.place import Place
from observatory.store.archive.restoring import bringing_back, fetching
from observatory.store.archive.restoring.fetching import fetch
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect_reader
from observatory.store.places.askers import PATIENCE
from observatory.store.queries.logs import LogFilter, lines_before
from tests.store.archive.conftest import remove_unused, rows_of
from tests.support.projects import World

LONG = 120.0


class Slow:
    """Files whose rows come one by one, when told."""

    def __init__(self) -> None:
        self.begun, self.goes_on = Flag(), Flag()
        self.files = 0

    def copied_rows(self, *arguments: object) -> Iterator[int]:
        self.files += 1
        for number, rows in enumerate(self._original(*arguments)):
            yield rows - 1
            if number == 0:
                self.begun.set()
                assert self.goes_on.wait(LONG)
            yield 1

    _original = staticmethod(bringing_back.copied_rows)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    slow = Slow()
    monkeypatch.setattr(bringing_back, "copied_rows", slow.copied_rows)
    monkeypatch.setattr(fetching, "INTERVAL", 0.0)
    yield slow
    slow.goes_on.set()


@pytest.fixture
def removed(
    connection: psycopg.Connection, cluster: Cluster, place: Place
) -> dict[str, list[tuple[object, ...]]]:
    """The rows of the cluster, which are in the archive alone."""
    before = rows_of(connection, cluster.pk)
    archive_round()
    remove_unused(connection, cluster.pk)
    return before


@pytest.fixture
def impatient() -> Iterator[None]:
    """As a request that doesn't wait."""
    token = PATIENCE.set(0.0)
    yield
    PATIENCE.reset(token)


def _read_logs(cluster: int) -> int:
    with connect_reader() as reader:
        return len(lines_before(reader, cluster, LogFilter(), 10_000))


def test_a_request_that_does_not_wait_says_how_far_it_is_and_the_next_has_the_rows(
    connection: psycopg.Connection,
    cluster: Cluster,
    removed: dict[str, list[tuple[object, ...]]],
    slow: Slow,
    impatient: None,
) -> None:
    with pytest.raises(BeingFetched):
        _read_logs(cluster.pk)
    assert slow.begun.wait(LONG)
    with pytest.raises(BeingFetched) as progress:
        _read_logs(cluster.pk)
    assert (progress.value.done, progress.value.rows) == (len(removed["log"]) - 1, len(removed["log"]))
    slow.goes_on.set()
    fetch(cluster.pk, ["log"], LONG)
    assert _read_logs(cluster.pk) == len(removed["log"])
    assert slow.files == 1
    assert rows_of(connection, cluster.pk)["log"] == removed["log"]


def test_a_patient_request_has_the_rows_at_once(
    cluster: Cluster, removed: dict[str, list[tuple[object, ...]]]
) -> None:
    token = PATIENCE.set(LONG)
    assert _read_logs(cluster.pk) == len(removed["log"])
    PATIENCE.reset(token)


def test_what_is_wrong_with_the_archive_is_said_to_who_waits_and_tried_again(
    connection: psycopg.Connection,
    cluster: Cluster,
    removed: dict[str, list[tuple[object, ...]]],
    folder: Path,
) -> None:
    away = folder.rename(folder.with_name("away"))
    with pytest.raises(ArchiveError, match="Mount the folder"):
        fetch(cluster.pk, ["log"], LONG)
    assert "log" in presence.removed_kinds(connection, cluster.pk)
    away.rename(folder)
    fetch(cluster.pk, ["log"], LONG)
    assert rows_of(connection, cluster.pk)["log"] == removed["log"]


def test_too_many_fetches_wait_for_those_before(
    cluster: Cluster, removed: dict[str, list[tuple[object, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MOST_FETCHES", 0)
    with pytest.raises(BeingFetched):
        fetch(cluster.pk, ["log"], LONG)
    monkeypatch.undo()
    fetch(cluster.pk, ["log"], LONG)
    assert _read_logs(cluster.pk) == len(removed["log"])


@pytest.mark.parametrize(
    ("path", "prefer", "seconds"),
    [
        ("/clusters/1/errors/", "", PATIENCE_OF_PAGES),
        ("/api/v1/clusters", "", PATIENCE_OF_PROGRAMS),
        ("/api/v1/clusters", "wait=3", 3.0),
        ("/api/v1/clusters", "respond-async, wait=0", 0.0),
        ("/api/v1/clusters", "wait=9999", PATIENCE_OF_PROGRAMS),
        ("/api/v1/clusters", "await=3", PATIENCE_OF_PROGRAMS),
        ("/api/v1/clusters", "wait=-3", PATIENCE_OF_PROGRAMS),
    ],
)
def test_requests_wait_as_long_as_they_prefer(path: str, prefer: str, seconds: float) -> None:
    headers = {"Prefer": prefer} if prefer else {}
    assert patience(RequestFactory().get(path, headers=headers)) == seconds


def test_the_api_says_how_far_it_is(
    connection: psycopg.Connection,
    world: World,
    cluster: Cluster,
    removed: dict[str, list[tuple[object, ...]]],
    slow: Slow,
    impatient: None,
) -> None:
    client = world.client("owner")
    client.raise_request_exception = False
    # as if late records waited for the next round: else the lines would be found in their files
    connection.execute("UPDATE archived_cluster SET sequence = sequence - 1")
    path = f"/api/v1/clusters/{cluster.pk}/logs"
    client.get(path)
    assert slow.begun.wait(LONG)
    found = client.get(path)
    assert (found.status_code, found.headers["Retry-After"]) == (503, "1")
    done, rows = len(removed["log"]) - 1, len(removed["log"])
    assert found.json()["fetching"] == {"done": done, "rows": rows}
    assert f"are being fetched from the archive: {done} of {rows} records (" in found.json()["detail"]
    slow.goes_on.set()
    fetch(cluster.pk, ["log"], LONG)
    assert client.get(path).status_code == 200


def test_a_page_says_how_far_it_is_and_looks_again(
    world: World,
    cluster: Cluster,
    removed: dict[str, list[tuple[object, ...]]],
    slow: Slow,
    impatient: None,
) -> None:
    client = world.client("owner")
    client.raise_request_exception = False
    path = f"/clusters/{cluster.pk}/errors/"
    client.get(path)
    assert slow.begun.wait(LONG)
    shown = client.get(path)
    assert (shown.status_code, shown.headers["Refresh"]) == (503, "1")
    assert "Fetching history" in shown.content.decode()
    assert f'max="{len(removed["error"])}"' in shown.content.decode()
    slow.goes_on.set()
    fetch(cluster.pk, ["error"], LONG)
    assert client.get(path).status_code == 200
