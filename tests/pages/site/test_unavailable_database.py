"""Requests while all connections to the database are busy."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from observatory.store.connection import is_unavailable
from tests.support.projects import World


@pytest.fixture
def busy(world: World) -> Iterator[None]:
    """A pool of which every connection is taken."""
    pool: Any = connection.pool  # type: ignore[attr-defined]
    timeout, limits = pool.timeout, (pool.min_size, pool.max_size)
    pool.resize(1, pool.get_stats()["pool_size"])
    pool.timeout = 0.1
    taken = []
    try:
        while True:
            try:
                taken.append(pool.getconn())
            except psycopg.OperationalError:
                break
        yield
    finally:
        for each in taken:
            pool.putconn(each)
        pool.timeout = timeout
        pool.resize(*limits)


def answer(path: str) -> HttpResponse:
    """The answer to a request in a thread of its own, which has no connection yet."""

    def request() -> HttpResponse:
        try:
            client = Client(raise_request_exception=False)
            client.cookies["sessionid"] = "x" * 32
            return client.get(path)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(request).result()


def test_a_page_says_that_the_database_is_unavailable_and_the_log_has_one_line(
    busy: None, caplog: pytest.LogCaptureFixture
) -> None:
    page = answer("/clusters/")
    assert (page.status_code, page.headers["Retry-After"]) == (503, "5")
    assert b"Try again in some seconds" in page.content
    [record] = [record for record in caplog.records if record.name == "django.request"]
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert record.getMessage().startswith(
        "the database is unavailable: /clusters/: couldn't get a connection"
    )


def test_the_api_says_so_as_json(busy: None) -> None:
    found = answer("/api/v1/clusters")
    assert (found.status_code, found.headers["Retry-After"]) == (503, "5")
    assert b"database is unavailable" in found.content


def test_an_error_of_a_statement_is_no_unavailable_database() -> None:
    assert not is_unavailable(psycopg.errors.QueryCanceled("canceling statement due to statement timeout"))
    assert is_unavailable(psycopg.errors.AdminShutdown("terminating connection"))
    assert not is_unavailable(ValueError("something else"))
    assert not is_unavailable(None)
