"""Queries of the log lines of a cluster."""

from __future__ import annotations

import psycopg
import pytest

from observatory.store.queries.logs import LogFilter, last_lines_of_worker, lines_after, lines_before
from tests.support.recorded_cluster import Recorded, at

ALL = LogFilter()


@pytest.fixture
def recorded(connection: psycopg.Connection, cluster: int) -> Recorded:
    return Recorded(connection, cluster)


def test_pages_of_lines_have_each_once_in_both_directions_even_if_times_are_equal(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    for number in range(11):
        recorded.log(number // 5, f"line {number}")
    pages = [lines_before(connection, cluster, ALL, 3)]
    while page := lines_before(connection, cluster, ALL, 3, (pages[-1][-1].time, pages[-1][-1].hash)):
        pages.append(page)
    seen = [line.message for page in pages for line in page]
    assert sorted(seen) == sorted(f"line {number}" for number in range(11))
    assert [line.time for page in pages for line in page] == [at(t) for t in [2] + [1] * 5 + [0] * 5]
    oldest = pages[-1][0]
    back = lines_after(connection, cluster, ALL, 100, (oldest.time, oldest.hash))
    assert [line.message for line in back] == seen[: seen.index(oldest.message)]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (LogFilter(level=30), {"paused", "failed"}),
        (LogFilter(role="nanny"), {"killed"}),
        (LogFilter(role="scheduler"), {"100% <b>busy</b>"}),
        (LogFilter(worker="W0"), {"paused", "killed"}),
        (LogFilter(worker="b:1"), {"failed"}),
        (LogFilter(logger="distributed.worker"), {"paused", "failed"}),
        (LogFilter(logger="distributed.w"), set()),
        (LogFilter(text="100%"), {"100% <b>busy</b>"}),
        (LogFilter(text="KeyError"), {"failed"}),
        (LogFilter(start=at(2), stop=at(4)), {"killed", "paused"}),
    ],
)
def test_lines_are_found_by_level_process_worker_logger_text_and_time(
    recorded: Recorded, connection: psycopg.Connection, cluster: int, filters: LogFilter, found: set[str]
) -> None:
    recorded.worker("tcp://a:1", "w0")
    recorded.worker("tcp://b:1", "w1")
    recorded.log(1, "100% <b>busy</b>")
    recorded.log(2, "paused", 30, "worker", "tcp://a:1", "distributed.worker.memory")
    recorded.log(3, "killed", 20, "nanny", "tcp://a:1", "distributed.nanny")
    recorded.log(4, "failed", 40, "worker", "tcp://b:1", "distributed.worker", "Traceback\nKeyError: 1")
    assert {line.message for line in lines_before(connection, cluster, filters, 10)} == found


def test_the_last_lines_of_a_worker_include_its_nannys(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    worker = recorded.worker("tcp://a:1", "w0")
    recorded.worker("tcp://b:1", "w1")
    for time in range(5):
        recorded.log(time, f"worker {time}", role="worker", worker="tcp://a:1")
    recorded.log(3.5, "nanny", role="nanny", worker="tcp://a:1")
    recorded.log(3, "another", role="worker", worker="tcp://b:1")
    lines = last_lines_of_worker(connection, cluster, worker, at(1), at(4), 3)
    assert [line.message for line in lines] == ["worker 2", "worker 3", "nanny"]
