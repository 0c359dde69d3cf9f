"""The store behind a pooler in transaction mode, which gives a session to others between transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dj_database_url
import psycopg
import pytest
from django.conf import settings

from observatory.store import connection as store
from observatory.store.connection import connect, parameters, read_connection, session_parameters
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.advisory_lock import RULES, try_lock
from tests.support.pooler import pooler

SESSIONS = 2
"""fewer than the connections of a test"""
CONNECTIONS = 6
PREPARED_BY_DEFAULT = 5
"""executions of a statement before psycopg prepares it"""


@pytest.fixture
def behind_pooler(transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    direct: dict[str, Any] = settings.DATABASES["default"]
    store.close_pools()
    with pooler(tmp_path, session_parameters(), SESSIONS) as (_, url):
        monkeypatch.setitem(settings.DATABASES, "default", {**dj_database_url.parse(url), "OPTIONS": {}})
        monkeypatch.setattr(settings, "DATABASE_SESSION", direct, raising=False)
        yield
        store.close_pools()


@pytest.mark.usefixtures("behind_pooler")
def test_a_lock_is_held_by_one_though_sessions_are_shared() -> None:
    with connect() as first, connect() as second:
        with try_lock(first, 1, RULES) as is_taken, try_lock(second, 1, RULES) as is_taken_again:
            assert is_taken
            assert not is_taken_again
        with try_lock(second, 1, RULES) as is_free:
            assert is_free


@pytest.mark.usefixtures("behind_pooler")
def test_a_statement_that_is_repeated_reaches_sessions_that_never_saw_it() -> None:
    with ExitStack() as stack:
        connections = [stack.enter_context(connect()) for _ in range(CONNECTIONS)]
        for number in range(CONNECTIONS * (PREPARED_BY_DEFAULT + 2)):
            with connections[number % 2].transaction(), connections[2 + number % 4].transaction():
                for connection in (connections[number % 2], connections[2 + number % 4]):
                    assert connection.execute("SELECT %s::int", [number]).fetchone() == (number,)


@pytest.mark.usefixtures("behind_pooler")
def test_times_are_utc_whatever_others_do_to_the_session() -> None:
    with psycopg.connect(**parameters(), autocommit=True) as other, read_connection() as reader:
        for zone in ("Asia/Tokyo", "America/Lima"):
            other.execute("SELECT set_config('timezone', %s, false)", [zone])
            assert reader.execute("SHOW timezone").fetchone() == ("UTC",)


@pytest.mark.usefixtures("behind_pooler")
def test_a_batch_is_stored_and_read_through_the_pooler(cluster: int, make: Any, now: float) -> None:
    spans = [make.span(now + number, key=f"inc-{number}") for number in range(50)]
    with Writer() as writer:
        for part in range(0, len(spans), 10):
            writer.write(Batch.of(cluster, spans=spans[part : part + 10]))
    with read_connection() as connection:
        found = connection.execute("SELECT count(*) FROM span WHERE cluster_id = %s", [cluster]).fetchone()
    assert found == (len(spans),)
