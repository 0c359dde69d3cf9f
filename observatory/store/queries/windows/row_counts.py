"""Whether a window has more than some number of rows; stops reading as soon as it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

import psycopg

from observatory.store.queries.timeline import OF_LANES, WITHIN
from observatory.store.times import from_microseconds

STARTS: LiteralString = "cluster_id = %(cluster)s AND start >= %(start)s AND start < %(stop)s"
"""found in one range of the index, unlike overlaps"""


def has_more_spans(
    connection: psycopg.Connection,
    cluster: int,
    start: int,
    stop: int,
    lanes: Sequence[int] | None,
    than: int,
) -> bool:
    """Return whether over `than` spans of `lanes` (None: all) start in [start, stop) (microseconds)."""
    condition: LiteralString = f"span WHERE {STARTS} AND {OF_LANES}"
    return _has_more(connection, condition, cluster, start, stop, than, lanes=lanes)


def has_more_samples(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, series: Sequence[int], than: int
) -> bool:
    """Return whether `series` have over `than` samples in [start, stop) (microseconds)."""
    condition: LiteralString = f"sample WHERE {WITHIN} AND series_id = ANY(%(series)s)"
    return _has_more(connection, condition, cluster, start, stop, than, series=list(series))


def has_more_events(connection: psycopg.Connection, cluster: int, start: int, stop: int, than: int) -> bool:
    """Return whether there are over `than` events in [start, stop) (microseconds)."""
    return _has_more(connection, f"event WHERE {WITHIN}", cluster, start, stop, than)


def has_more_errors(connection: psycopg.Connection, cluster: int, start: int, stop: int, than: int) -> bool:
    """Return whether there are over `than` failed attempts in [start, stop) (microseconds)."""
    return _has_more(connection, f"error WHERE {WITHIN}", cluster, start, stop, than)


def has_more_profile_rows(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, than: int
) -> bool:
    """Return whether there are over `than` rows of profiles in [start, stop) (microseconds)."""
    return _has_more(connection, f"profile WHERE {WITHIN}", cluster, start, stop, than)


def has_more_fine_performance(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, than: int
) -> bool:
    """Return whether there are over `than` rows of fine performance metrics in [start, stop) (µs)."""
    return _has_more(connection, f"fine_performance WHERE {WITHIN}", cluster, start, stop, than)


def has_more_transfers(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, than: int
) -> bool:
    """Return whether over `than` logged transfers, of senders and receivers, start in [start, stop) (µs)."""
    return _has_more(connection, f"transfer WHERE {STARTS}", cluster, start, stop, than)


def has_more_log_lines(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, than: int
) -> bool:
    """Return whether there are over `than` log lines in [start, stop) (microseconds)."""
    return _has_more(connection, f"log WHERE {WITHIN}", cluster, start, stop, than)


def has_more_transitions(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, than: int
) -> bool:
    """Return whether there are over `than` transitions of tasks in [start, stop) (microseconds)."""
    return _has_more(connection, f"transition WHERE {WITHIN}", cluster, start, stop, than)


def has_more_steals(connection: psycopg.Connection, cluster: int, start: int, stop: int, than: int) -> bool:
    """Return whether there are over `than` requests and outcomes of stealing in [start, stop) (µs)."""
    return _has_more(connection, f"steal WHERE {WITHIN}", cluster, start, stop, than)


def _has_more(
    connection: psycopg.Connection,
    condition: LiteralString,
    cluster: int,
    start: int,
    stop: int,
    than: int,
    **parameters: Any,
) -> bool:
    window = {"cluster": cluster, "start": from_microseconds(start), "stop": from_microseconds(stop)}
    found = connection.execute(
        f"SELECT FROM {condition} OFFSET %(than)s LIMIT 1", {**window, "than": than, **parameters}
    ).fetchone()
    return found is not None
