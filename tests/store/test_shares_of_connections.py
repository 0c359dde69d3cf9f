"""Requests about one project leave connections to others, and no statement of a page takes for ever."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextvars import copy_context

import psycopg
import pytest
from django.test import RequestFactory
from psycopg_pool import PoolTimeout

from observatory.pages.site.errors import server_error
from observatory.store import connection as connections
from observatory.store.connection import (
    MAXIMUM_BUILDERS,
    build_connection,
    close_pools,
    limit_statements,
    read_connection,
)
from observatory.store.places.askers import ASKER, Asker, asks_about

LONG_WAIT = 120.0


@pytest.fixture
def _limited(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pools whose statements take a second at most."""
    close_pools()
    limit_statements()
    monkeypatch.setattr(connections, "LONGEST_READ", 1)
    monkeypatch.setattr(connections, "LONGEST_BUILD", 1)
    yield
    limit_statements(False)
    close_pools()


@pytest.mark.usefixtures("_limited")
@pytest.mark.parametrize("take", [read_connection, build_connection])
@pytest.mark.parametrize("path", ["/api/v1/clusters/1/lanes", "/clusters/1/"])
def test_a_statement_that_takes_too_long_is_answered_with_what_to_do(
    take: type[build_connection], path: str
) -> None:
    try:
        with take() as connection:
            connection.execute("SELECT pg_sleep(60)")
    except psycopg.errors.QueryCanceled:
        answer = server_error(RequestFactory().get(path))
    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    text = json.loads(answer.content)["detail"] if "api" in path else answer.content.decode()
    assert "This takes the database too long. Narrow the window" in text
    with take() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.usefixtures("_limited")
def test_processes_that_answer_no_requests_have_no_such_limit() -> None:
    limit_statements(False)
    with read_connection() as connection:
        assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_requests_about_one_project_leave_a_build_to_another(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[int] = []
    ended = threading.Event()

    def build(project: int, waits: bool) -> None:
        ASKER.set(Asker(f"token of {project}"))
        asks_about(project)
        with build_connection():
            built.append(project)
            if waits:
                ended.wait(LONG_WAIT)

    def start(project: int, waits: bool) -> threading.Thread:
        thread = threading.Thread(target=copy_context().run, args=(build, project, waits))
        thread.start()
        return thread

    attacks = [start(1, True) for _ in range(2 * MAXIMUM_BUILDERS)]
    try:
        for _ in range(3):
            start(2, False).join(LONG_WAIT)
        assert built.count(2) == 3
        assert built.count(1) < MAXIMUM_BUILDERS
        monkeypatch.setattr(connections.builds, "timeout", 0.05)
        ASKER.set(Asker("a link of the first", 1))
        with (
            pytest.raises(PoolTimeout, match="the project's other builds take"),
            build_connection(),
        ):
            pass
    finally:
        ASKER.set(None)
        ended.set()
        for thread in attacks:
            thread.join(LONG_WAIT)
    assert built.count(1) == len(attacks)
