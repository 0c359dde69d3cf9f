"""Finds the log lines of a scope's processes: pages of lines around a time, and their number over time.

Texts are compared as the scope shows them: with pseudonyms nobody can find out what they stand for.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import psycopg

from observatory.replay.scope import Scope, Section
from observatory.store.archive.scans.conditions import Condition, Contains
from observatory.store.patterns import pattern
from observatory.store.queries.logs import (
    LogCursor,
    LogFilter,
    LogLine,
    condition_of,
    lines_after,
    lines_before,
)
from observatory.store.reading.scanning import scan
from observatory.store.times import MAXIMUM_TIME, from_microseconds, to_microseconds

BUDGET = 1.5
"""seconds after which a search stops; it is continued from there"""
FIRST_WIDTH = timedelta(seconds=16)
"""of the stretch of time that is read first; the next ones are as long as their predecessors say"""
QUICK, SLOW = 0.1, 0.4
"""seconds of a stretch's query, below which the next is longer, and above which it is shorter"""
BATCH = 2_000
"""lines that are compared with a regular expression at once"""
INSTANT = timedelta(microseconds=1)
CURSOR = re.compile(r"(\d{1,16})_(-?\d{1,19})")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines of [start, stop) (microseconds) are searched for; empty values match all."""

    start: int = 0
    stop: int = MAXIMUM_TIME
    level: int = 0
    """minimum level"""
    role: str = ""
    """one of ROLES"""
    workers: tuple[int, ...] = ()
    """ids of lifetimes"""
    worker: str = ""
    """part of the worker's name or address, where these are shown"""
    logger: str = ""
    """a logger, with its child loggers"""
    match: str = ""
    """part of the message or traceback; case-insensitive"""
    is_regex: bool = False
    """`match` is a regular expression (RE2)"""

    @property
    def is_counted_ahead(self) -> bool:
        """Whether kept sums know the number of these lines."""
        return not (self.worker or self.logger or self.match)


@dataclass(slots=True)
class LogPage:
    """Some lines in order of time. A cursor leads to the next ones on a side; None: there are none."""

    lines: list[LogLine] = field(default_factory=list)
    older: str | None = None
    newer: str | None = None
    searched_from: datetime | None = None
    searched_to: datetime | None = None
    """where the search stopped for lack of time; its cursor leads on from there"""


@dataclass(slots=True)
class _Side:
    """What was found on one side of a place, the nearest first."""

    lines: list[LogLine] = field(default_factory=list)
    next: LogCursor | None = None
    stopped: datetime | None = None


def search_around(
    connection: psycopg.Connection, scope: Scope, wanted: Wanted, at: int, limit: int
) -> LogPage:
    """Return the lines nearest to a time (microseconds), half of them from before it if possible."""
    deadline = time.monotonic() + BUDGET
    place = from_microseconds(at)
    older = _search(connection, scope, wanted, before(place), limit, deadline, goes_back=True)
    newer = _search(connection, scope, wanted, from_time(place), limit, deadline, goes_back=False)
    half = limit // 2
    older = _cut(older, max(half, limit - len(newer.lines)))
    newer = _cut(newer, max(half, limit - len(older.lines)))
    return _page(older, newer)


def search_from(
    connection: psycopg.Connection,
    scope: Scope,
    wanted: Wanted,
    cursor: LogCursor,
    limit: int,
    *,
    goes_back: bool,
) -> LogPage:
    """Return the next lines from a cursor on."""
    deadline = time.monotonic() + BUDGET
    side = _cut(_search(connection, scope, wanted, cursor, limit, deadline, goes_back=goes_back), limit)
    return _page(side, _Side()) if goes_back else _page(_Side(), side)


def listed_lines(
    connection: psycopg.Connection,
    cluster: int,
    filters: LogFilter,
    limit: int,
    cursor: LogCursor | None = None,
    *,
    goes_back: bool = True,
    deadline: float = math.inf,
) -> tuple[list[LogLine], LogCursor | None]:
    """As `lines_before` or `lines_after`, where archived lines are searched in their files.

    The second is where the search goes on, if it took too long. `deadline` is one of time.monotonic().
    """
    start, stop = filters.start or from_microseconds(0), filters.stop or from_microseconds(MAXIMUM_TIME)
    if cursor is not None:
        start, stop = (start, min(stop, cursor[0] + INSTANT)) if goes_back else (max(start, cursor[0]), stop)
    found: list[LogLine] = []
    condition = condition_of(connection, cluster, filters)
    with scan(connection, cluster, "log", condition, goes_back=goes_back) as cover:
        while start < stop and len(found) < limit:
            edge = cover(start, stop)
            left = limit - len(found)
            if goes_back:
                within = replace(filters, start=edge, stop=stop)
                found += lines_before(connection, cluster, within, left, cursor)
                stop = edge
            else:
                within = replace(filters, start=start, stop=edge)
                found = [*lines_after(connection, cluster, within, left, cursor), *found]
                start = edge
            if time.monotonic() > deadline and start < stop and len(found) < limit:
                return found, before(stop) if goes_back else from_time(start)
    return found, None


def before(time: datetime) -> LogCursor:
    """Return the place before all lines of a time."""
    return time, -(2**63)


def from_time(time: datetime) -> LogCursor:
    """Return the place from which `lines_after` has all lines of a time."""
    return time - INSTANT, 2**63 - 1


def parse_cursor(text: str) -> LogCursor | None:
    """Return None for other texts than `format_cursor` gives."""
    found = CURSOR.fullmatch(text)
    if found is None:
        return None
    return from_microseconds(int(found[1])), min(max(int(found[2]), -(2**63)), 2**63 - 1)


def format_cursor(cursor: LogCursor) -> str:
    return f"{to_microseconds(cursor[0])}_{cursor[1]}"


def matching_lines(
    connection: psycopg.Connection,
    scope: Scope,
    wanted: Wanted,
    cursor: LogCursor,
    *,
    goes_back: bool,
    batch: int = BATCH,
) -> Generator[tuple[list[LogLine], LogCursor | None]]:
    """Yield matching lines from a cursor on, as shown, and where the next ones begin; None: these are all.

    Each piece reads a stretch of time, and no more than `batch` lines, so that the caller can stop. Who does
    not take all pieces has to close the generator.
    """
    filters, accepts = _filters(scope, wanted)
    start, stop = filters.start or from_microseconds(0), filters.stop or from_microseconds(MAXIMUM_TIME)
    cluster = scope.cluster.pk
    width = FIRST_WIDTH
    condition = _condition(connection, scope, wanted, filters)
    place: LogCursor | None = cursor
    # the lines of the place's time are on both of its sides
    edge = min(cursor[0] + INSTANT, stop) if goes_back else max(cursor[0], start)
    with scan(connection, cluster, "log", condition, goes_back=goes_back) as cover:
        while start < stop:
            began = time.monotonic()
            if goes_back:
                asked = edge - width if edge - start > width else start
                end = cover(asked, edge)
                within = replace(filters, start=end, stop=edge)
                rows = lines_before(connection, cluster, within, batch, place)
            else:
                asked = edge + width if stop - edge > width else stop
                end = cover(edge, asked)
                within = replace(filters, start=edge, stop=end)
                rows = lines_after(connection, cluster, within, batch, place)[::-1]
            found = [line for line in (_shown(row, scope) for row in rows) if accepts(line)]
            if len(rows) == batch:
                place = (rows[-1].time, rows[-1].hash)
                edge = min(place[0] + INSTANT, stop) if goes_back else place[0]
            elif end in (start, stop):
                yield found, None
                return
            else:
                place, edge = before(end) if goes_back else from_time(end), end
                took = time.monotonic() - began
                if took > SLOW:
                    width = max(FIRST_WIDTH, width / 2)
                elif took < QUICK and end == asked:
                    width *= 4
            yield found, place


def _search(
    connection: psycopg.Connection,
    scope: Scope,
    wanted: Wanted,
    cursor: LogCursor,
    limit: int,
    deadline: float,
    *,
    goes_back: bool,
) -> _Side:
    """Return at least `limit` and one more lines, if there are so many and the time suffices."""
    side = _Side()
    is_compared = wanted.is_regex or scope.pseudonyms is not None
    batch = BATCH if is_compared else limit + 1
    pieces = matching_lines(connection, scope, wanted, cursor, goes_back=goes_back, batch=batch)
    with closing(pieces):
        for found, beyond in pieces:
            side.lines += found
            side.next = beyond
            if len(side.lines) > limit or beyond is None:
                break
            if time.monotonic() > deadline:
                side.stopped = beyond[0]
                break
    return side


def _cut(side: _Side, limit: int) -> _Side:
    if len(side.lines) <= limit:
        return side
    last = side.lines[limit - 1] if limit else side.lines[0]
    return _Side(side.lines[:limit], (last.time, last.hash))


def _page(older: _Side, newer: _Side) -> LogPage:
    return LogPage(
        [*older.lines[::-1], *newer.lines],
        older.next and format_cursor(older.next),
        newer.next and format_cursor(newer.next),
        older.stopped,
        newer.stopped,
    )


def _filters(scope: Scope, wanted: Wanted) -> tuple[LogFilter, Callable[[LogLine], bool]]:
    """Return what the database compares, and a function for the rest."""
    start, stop = max(wanted.start, scope.start), min(wanted.stop, scope.stop)
    filters = LogFilter(
        level=wanted.level,
        role=wanted.role,
        workers=wanted.workers,
        start=from_microseconds(start),
        stop=from_microseconds(stop),
    )
    if scope.pseudonyms is None and Section.TRACEBACKS in scope.sections:
        filters = replace(filters, worker=wanted.worker, logger=wanted.logger)
        if not wanted.is_regex:
            return replace(filters, text=wanted.match), lambda line: True
    return filters, _accepts(wanted)


def _condition(connection: psycopg.Connection, scope: Scope, wanted: Wanted, filters: LogFilter) -> Condition:
    """What a scan of archived lines looks for: the text as well, unless the scope shows another."""
    found = condition_of(connection, scope.cluster.pk, filters)
    if wanted.match and not filters.text and scope.pseudonyms is None:
        text = Contains(("message", "traceback"), wanted.match, wanted.is_regex)
        return replace(found, tests=(*found.tests, text))
    return found


def _accepts(wanted: Wanted) -> Callable[[LogLine], bool]:
    """Return whether a line, as it is shown, has the wanted worker, logger and text. Raises PatternError."""
    search = pattern(wanted.match, ignores_case=True).search if wanted.is_regex else None
    text, worker, logger = wanted.match.lower(), wanted.worker.lower(), wanted.logger

    def accepts(line: LogLine) -> bool:
        return (
            worker in f"{line.worker} {line.address}".lower()
            and (not logger or f"{line.logger}.".startswith(f"{logger}."))
            and (
                bool(search(line.message) or search(line.traceback))
                if search
                else text in line.message.lower() or text in line.traceback.lower()
            )
        )

    return accepts


def _shown(line: LogLine, scope: Scope) -> LogLine:
    """Return a line as the scope shows it."""
    if Section.TRACEBACKS not in scope.sections:
        line = replace(line, traceback="")
    if scope.pseudonyms is None:
        return line
    text, worker = scope.text, scope.pseudonyms.worker(line.worker)
    return replace(
        line,
        pid=0,
        logger=text(line.logger),
        message=text(line.message),
        traceback=text(line.traceback),
        worker=worker,
        address=worker,
    )
