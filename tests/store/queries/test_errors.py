"""Queries of the errors of a cluster."""

from __future__ import annotations

import psycopg
import pytest

from observatory.store.keys import find_keys
from observatory.store.queries.tasks.errors import (
    ErrorFilter,
    error_groups,
    errors_of_key,
    task_error,
    task_errors,
)
from tests.support.recorded_cluster import Recorded, at

ALL = ErrorFilter()


@pytest.fixture
def recorded(connection: psycopg.Connection, cluster: int) -> Recorded:
    return Recorded(connection, cluster)


def test_errors_are_grouped_by_type_and_prefix_with_the_newest_first(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    recorded.error(1, "('load-1', 1)", workers=["tcp://a:1"], message="first")
    last = recorded.error(3, "('load-1', 2)", workers=["tcp://b:1"], message="last", outcome="retried")
    recorded.error(2, "('load-1', 1)", workers=["tcp://a:1", "tcp://b:1"])
    recorded.error(9, "('save-1', 1)", prefix="save", group="save-1", workers=["tcp://a:1"])
    killed = recorded.error(5, "('load-1', 3)", "KilledWorker", outcome="killed", workers=["tcp://a:1"])
    save, kill, load = error_groups(connection, cluster, ALL, 10)
    assert (save.prefix, save.count) == ("save", 1)
    assert (kill.exception_type, kill.id, kill.killed) == ("KilledWorker", killed, 1)
    assert (load.exception_type, load.prefix, load.count, load.retried) == ("ValueError", "load", 3, 1)
    assert (load.first, load.last) == (at(1), at(3))
    assert (load.id, load.message, load.workers) == (last, "last", 2)
    assert [group.groups for group in (save, kill, load)] == [3, 3, 3]
    [second] = error_groups(connection, cluster, ALL, 1, 1)
    assert second.id == killed


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (ErrorFilter(text="NO COLUMN"), {"('load-1', 1)"}),
        (ErrorFilter(text="100%_"), {"('save-1', 2)"}),
        (ErrorFilter(text="%"), {"('save-1', 2)"}),
        (ErrorFilter(text="'load-1', 3"), {"('load-1', 3)"}),
        (ErrorFilter(prefix="save"), {"('save-1', 2)"}),
        (ErrorFilter(outcome="killed"), {"('load-1', 3)"}),
        (ErrorFilter(exception_type="ValueError"), {"('load-1', 1)"}),
        (ErrorFilter(exception_type=""), {"('save-1', 2)"}),
        (ErrorFilter(text="nothing like it"), set()),
    ],
)
def test_errors_are_searched_by_text_prefix_outcome_and_type(
    recorded: Recorded,
    connection: psycopg.Connection,
    cluster: int,
    filters: ErrorFilter,
    found: set[str],
) -> None:
    recorded.error(1, "('load-1', 1)", message="No column 'price'")
    recorded.error(2, "('save-1', 2)", "", message="done 100%_", prefix="save", group="save-1")
    recorded.error(3, "('load-1', 3)", "KilledWorker", outcome="killed")
    assert {error.key for error in task_errors(connection, cluster, filters, 10)} == found


def test_pages_of_errors_have_each_once_even_if_times_are_equal(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    made = {recorded.error(number // 4, f"('load-1', {number})") for number in range(11)}
    seen = []
    before = None
    while errors := task_errors(connection, cluster, ALL, 3, before):
        seen += [error.id for error in errors]
        before = (errors[-1].time, errors[-1].id)
    assert len(seen) == 11
    assert set(seen) == made


def test_one_error_has_its_traceback_and_is_not_found_in_another_cluster(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    recorded.worker("tcp://a:1", "w0")
    id = recorded.error(1, "('load-1', 1)", workers=["tcp://a:1"], traceback="Traceback …", dependents=4)
    error = task_error(connection, cluster, id)
    assert error is not None
    assert (error.key, error.worker, error.traceback, error.dependents) == (
        "('load-1', 1)",
        "w0",
        "Traceback …",
        4,
    )
    assert task_error(connection, cluster + 10_000, id) is None


def test_a_tasks_errors_are_not_those_of_a_key_with_the_same_hash(
    recorded: Recorded, connection: psycopg.Connection, cluster: int
) -> None:
    recorded.error(2, "plumless", group="plumless")
    recorded.error(1, "buckeroo", group="buckeroo")  # their CRC-32 is the same
    [error] = errors_of_key(connection, cluster, find_keys(connection, cluster, "plumless"), 10)
    assert error.time == at(2)
