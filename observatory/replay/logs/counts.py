"""Counts the log lines of a window by level and time."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.replay.logs.search import BUDGET, Wanted, before, matching_lines
from observatory.replay.scope import Scope
from observatory.replay.tiles.builder import FEW_SUMMED_ROWS
from observatory.replay.tiles.levels import TileId
from observatory.replay.tiles.sums import bin_width, merge_sums
from observatory.replay.windows.sums import BinnedSums, binned_sums, level_of_bins, recorded_part
from observatory.store.queries.sums.log_sums import LOG_SUMS
from observatory.store.queries.sums.sum_layer import Bins
from observatory.store.reading.archived_counts import archived_line_count, archived_line_counts
from observatory.store.times import from_microseconds, to_microseconds
from observatory.wire.records import ROLES

LEVELS = (10, 20, 30, 40, 50)
"""A line counts with the greatest of these that its level reaches."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LogCounts:
    """Counts of lines by level and bin. Times are microseconds."""

    first: int
    """start of the first bin"""
    width: int
    counts: dict[int, list[int]]
    """by level; without lines a level is missing, and bins after the last line"""
    counted_from: int | None = None
    """lines before this are not counted, because reading them takes too long"""


def log_counts(connection: psycopg.Connection, scope: Scope, wanted: Wanted) -> LogCounts:
    """Return the counts of the wanted lines."""
    found = _archived(connection, scope, wanted)
    if found is None:
        found = binned_sums(connection, scope, LOG_SUMS, wanted.start, wanted.stop)
    if not wanted.is_counted_ahead:
        return _searched(connection, scope, wanted, found)
    columns = found.columns
    rows = columns["level"] >= wanted.level
    if wanted.role:
        rows &= columns["role"] == ROLES.index(wanted.role)
    if wanted.workers:
        rows &= np.isin(columns["worker"], wanted.workers)
    return _counts(found, columns["level"][rows], columns["bin"][rows], columns["count"][rows])


def _archived(connection: psycopg.Connection, scope: Scope, wanted: Wanted) -> BinnedSums | None:
    """What `binned_sums` gives, of lines that are counted in files; None: they are in their table."""
    cluster = scope.cluster.pk
    start, stop = recorded_part(connection, scope, wanted.start, wanted.stop)
    number = archived_line_count(connection, cluster, start, stop) if start < stop else None
    if number is None:
        return None
    width = bin_width(TileId(level_of_bins(start, stop, number > FEW_SUMMED_ROWS), 0))
    first, last = start // width, -(-stop // width)
    if wanted.is_counted_ahead:
        columns = archived_line_counts(connection, cluster, Bins(start, stop, first * width, width))
        return None if columns is None else BinnedSums(first * width, width, last - first, columns)
    return BinnedSums(first * width, width, last - first, merge_sums(LOG_SUMS, []))


def _searched(connection: psycopg.Connection, scope: Scope, wanted: Wanted, bins: BinnedSums) -> LogCounts:
    """Return the counts of lines that contain a text, the newest ones if there are too many to read."""
    levels: list[int] = []
    places: list[int] = []
    deadline = time.monotonic() + BUDGET
    counted_from = None
    end = before(from_microseconds(bins.first + bins.bins * bins.width))
    pieces = matching_lines(connection, scope, wanted, end, goes_back=True)
    with closing(pieces):
        for lines, beyond in pieces:
            levels += [line.level for line in lines]
            places += [(to_microseconds(line.time) - bins.first) // bins.width for line in lines]
            if beyond is not None and time.monotonic() > deadline:
                counted_from = to_microseconds(beyond[0])
                break
            if beyond is not None and beyond[0] <= from_microseconds(bins.first):
                break
    one = np.ones(len(levels))
    return _counts(bins, np.array(levels, int), np.array(places, int), one, counted_from)


def _counts(
    bins: BinnedSums,
    level: Integers,
    place: Integers,
    count: npt.NDArray[np.float64],
    counted_from: int | None = None,
) -> LogCounts:
    known = np.clip(np.searchsorted(LEVELS, level, side="right") - 1, 0, None)
    counts = {
        LEVELS[index]: np.bincount(place[known == index], count[known == index]).astype(int).tolist()
        for index in np.unique(known).tolist()
    }
    return LogCounts(bins.first, bins.width, counts, counted_from)
