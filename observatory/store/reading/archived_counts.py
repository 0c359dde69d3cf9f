"""Counts archived records in their files, where these need not be brought back for it.

None says that they are to be counted in their tables: they are there, or counting takes over LONGEST seconds,
or their files were replaced meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from time import monotonic

import numpy as np
import psycopg

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.scans.conditions import Condition, OneOf, Test
from observatory.store.queries.sums.sum_layer import UNKNOWN, Bins, Columns
from observatory.store.reading.scanning import LONGEST, of_files, one_snapshot, removed_kinds
from observatory.store.times import from_microseconds
from observatory.wire.records import ROLES

COUNTED = ("level", "role", "worker_lifetime")


def archived_line_count(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> int | None:
    """The number of archived lines in [start, stop) (microseconds).

    Raises NoPlace, ArchiveError and psycopg.Error.
    """
    return _count(connection, cluster, "log", _within(start, stop))


def archived_sample_count(
    connection: psycopg.Connection,
    cluster: int,
    metrics: Collection[str],
    start: int,
    stop: int,
    longest: float = LONGEST,
) -> int | None:
    """The number of archived samples of metrics, likewise; `longest`: seconds that counting may take."""
    within = _within(start, stop, OneOf(("metric",), frozenset(metrics)))
    return _count(connection, cluster, "sample", within, longest)


def archived_line_counts(connection: psycopg.Connection, cluster: int, bins: Bins) -> Columns | None:
    """What LOG_SUMS reads, of archived lines. Raises NoPlace, ArchiveError and psycopg.Error."""
    pieces = _pieces(connection, cluster, "log")
    if pieces is None:
        return None
    from observatory.store.archive.scans.counting import count_by

    until, condition = monotonic() + LONGEST, _within(bins.start, bins.stop)
    found = of_files(
        pieces, lambda place: count_by(place, pieces, condition, COUNTED, bins.first, bins.width, until)
    )
    if found is None:
        return None
    workers = connection.execute("SELECT position, id FROM worker WHERE cluster_id = %s", [cluster])
    ids: dict[int | None, int] = dict(workers.fetchall())
    return {
        "level": np.array(found["level"], np.int32),
        "role": np.array([_role(role) for role in found["role"]], np.int32),
        "worker": np.array([ids.get(lifetime, UNKNOWN) for lifetime in found["worker_lifetime"]], np.int32),
        "bin": np.array(found["bin"], np.int32),
        "count": np.array(found["count"], np.float64),
    }


def _count(
    connection: psycopg.Connection, cluster: int, kind: str, condition: Condition, longest: float = LONGEST
) -> int | None:
    pieces = _pieces(connection, cluster, kind)
    if pieces is None:
        return None
    from observatory.store.archive.scans.counting import count

    return of_files(pieces, lambda place: count(place, pieces, condition, monotonic() + longest))


def _pieces(connection: psycopg.Connection, cluster: int, kind: str) -> list[Piece] | None:
    """The files of a kind; None where its rows are in their table."""
    with one_snapshot(connection) as reader:
        return None if reader is None else removed_kinds(reader, cluster, [kind]).get(kind)


def _within(start: int, stop: int, *tests: Test) -> Condition:
    return Condition(tests, from_microseconds(start), from_microseconds(stop))


def _role(role: str) -> int:
    return ROLES.index(role) if role in ROLES else -1
