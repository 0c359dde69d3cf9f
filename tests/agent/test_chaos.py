"""The server is killed repeatedly while a cluster works: nothing is lost, nothing is stored twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.chaos import assert_stored_once, observe
from tests.browser.observatory import Observatory
from tests.support.first_start import copy_migrated, static_root

KILLS = 5


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Observatory]:
    copy_migrated(tmp_path / "data")
    server = Observatory(tmp_path / "data")
    server.environment["OBSERVATORY_STATIC_ROOT"] = static_root()
    server.start()
    yield server
    server.stop()


def disturb(server: Observatory) -> None:
    """Kills everything five times, PostgreSQL and Valkey once each, while the cluster works."""
    for number in range(KILLS):
        time.sleep(2)
        server.kill()
        time.sleep(1)
        server.start()
        if number == 1:
            server.kill_child("bin/postgres")
        if number == 3:
            server.kill_child("valkey-server")


@pytest.mark.long
@pytest.mark.timeout(850)
def test_every_record_is_stored_once_though_the_server_was_killed_five_times(server: Observatory) -> None:
    token = server.manage("ingest_token", "default").strip()
    recorder, tasks = observe(server.url, token, lambda: disturb(server))
    assert_stored_once(server.rows, recorder, tasks)
