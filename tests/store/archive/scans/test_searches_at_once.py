"""Many people search archived records at once: all are answered, and live pages meanwhile."""

from __future__ import annotations

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from observatory.clusters.models import Cluster
from observatory.store.archive import presence
from observatory.store.archive.rounds.round import archive_round
from tests.browser.observatory import free_port
from tests.store.archive.conftest import remove_unused
from tests.store.archive.long_history import RARE, START, STEP
from tests.support.projects import World
from tests.support.web_process import web_process

AT_ONCE = 20


@pytest.fixture
def archived(connection: psycopg.Connection, recorded: Cluster, folder: Path) -> Cluster:
    """Its records are in the archive alone."""
    archive_round()
    assert remove_unused(connection, recorded.pk) > 0
    return recorded


def test_twenty_searches_at_once_are_all_answered_and_a_live_cluster_is_shown_meanwhile(
    connection: psycopg.Connection, archived: Cluster, world: World, folder: Path, tmp_path: Path
) -> None:
    session = world.client("owner").cookies[settings.SESSION_COOKIE_NAME].value
    search = f"/api/v1/clusters/{archived.pk}/logs?match=needle&at={START + RARE * STEP + 1}"
    live = f"/api/v1/clusters/{world.live.pk}/state?at={START}"

    def answer(path: str) -> tuple[str, int, bytes]:
        request = urllib.request.Request(
            f"{address}{path}", headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}={session}"}
        )
        with urllib.request.urlopen(request, timeout=300) as found:
            return found.headers["Searched-Files"] or "", found.status, found.read()

    variables = {"OBSERVATORY_ARCHIVE": str(folder), "OBSERVATORY_ARCHIVE_REMOVES_ROWS_AFTER_DAYS": "1"}
    with (
        web_process(tmp_path, free_port(), **variables) as address,
        ThreadPoolExecutor(AT_ONCE + 1) as people,
    ):
        searches = [people.submit(answer, search) for _ in range(AT_ONCE)]
        shown = [answer(live)[1] for _ in range(5)]
        found = [each.result() for each in as_completed(searches)]
    assert shown == [200] * 5
    assert {status for _, status, _ in found} == {200}
    for files, *_ in found:
        read, of = map(int, files.split("/"))
        assert 0 < read <= of
    for page in (json.loads(body) for *_, body in found):
        assert page["lines"] or page["searched_from"], "it has the line, or says how far it came in its time"
    assert "log" in presence.removed_kinds(connection, archived.pk), "nothing was brought back"
