"""HTTP API of a timeline: its log lines."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Field, Query, Schema
from ninja.errors import HttpError

from observatory.replay.answers.router import AnswerRouter
from observatory.replay.answers.window_answer import LATEST
from observatory.replay.logs.counts import LogCounts, log_counts
from observatory.replay.logs.schemas import LogCountsOut, Logs
from observatory.replay.logs.search import (
    LogPage,
    Wanted,
    format_cursor,
    parse_cursor,
    search_around,
    search_from,
)
from observatory.replay.scope import Scope, Section, require
from observatory.store.connection import build_connection
from observatory.store.patterns import MAX_PATTERN, PatternError, pattern
from observatory.store.queries.logs import LogLine
from observatory.store.times import MAXIMUM_TIME

MOST_LINES = 1000
MOST_WORKERS = 200
"""lifetimes that are asked for"""

Item = dict[str, Any]


class LogQuery(Schema):
    """Which log lines; by default all of the window."""

    after: float = Field(0, ge=0, lt=MAXIMUM_TIME / 1e6)
    before: float = Field(LATEST, gt=0, lt=MAXIMUM_TIME / 1e6)
    level: int = Field(0, ge=0, le=1000, description="minimum level: 30 is warning")
    role: Literal["", "scheduler", "worker", "nanny"] = ""
    workers: str = Field("", pattern=r"^(\d{1,9}(,\d{1,9})*)?$", description="ids, separated by commas")
    logger: str = Field("", max_length=MAX_PATTERN, description="a logger, with its child loggers")
    match: str = Field("", max_length=MAX_PATTERN, description="part of the message or traceback")
    regex: bool = Field(False, description="whether `match` is a regular expression (RE2)")


class LogPageQuery(LogQuery):
    at: float | None = Field(
        None, ge=0, lt=MAXIMUM_TIME / 1e6, description="lines nearest to this; by default the last ones"
    )
    older: str = Field("", max_length=60)
    newer: str = Field("", max_length=60)
    limit: Annotated[int, Field(ge=1, le=MOST_LINES)] = 200


def add_log_routes(router: AnswerRouter, word: str) -> None:
    """Add the routes of logs to those of a timeline."""

    @router.get("/logs", operation_id=f"{word}_logs", response=Logs)
    def logs(request: HttpRequest, query: Query[LogPageQuery]) -> Item:
        """Log lines of the window, nearest to `at` or the next ones from a cursor on."""
        scope = router.scope_of(request)
        require(scope, Section.LOGS)
        return _page(scope, query)

    @router.get("/log-counts", operation_id=f"{word}_log_counts", response=LogCountsOut)
    def counts(request: HttpRequest, query: Query[LogQuery]) -> Item:
        """Numbers of log lines of the window, by level and time."""
        scope = router.scope_of(request)
        require(scope, Section.LOGS)
        wanted = _wanted(query)
        with build_connection() as connection:
            return _counts(log_counts(connection, scope, wanted))


def _wanted(query: LogQuery) -> Wanted:
    """Raises HttpError (422) for an invalid regular expression, and for too many workers."""
    workers = tuple(map(int, query.workers.split(","))) if query.workers else ()
    if len(workers) > MOST_WORKERS:
        raise HttpError(422, f"workers are {len(workers)}: at most {MOST_WORKERS}")
    if query.regex:
        try:
            pattern(query.match, ignores_case=True)
        except PatternError as error:
            raise HttpError(422, str(error)) from None
    return Wanted(
        start=round(query.after * 1e6),
        stop=round(query.before * 1e6),
        level=query.level,
        role=query.role,
        workers=workers,
        logger=query.logger,
        match=query.match,
        is_regex=query.regex,
    )


def _page(scope: Scope, query: LogPageQuery) -> Item:
    """Raises HttpError (422) for cursors that no answer had."""
    wanted = _wanted(query)
    text = query.older or query.newer
    cursor = parse_cursor(text) if text else None
    if text and cursor is None:
        raise HttpError(422, "older and newer are cursors of an answer")
    with build_connection() as connection:
        if cursor is None:
            at = wanted.stop if query.at is None else round(query.at * 1e6)
            found = search_around(connection, scope, wanted, at, query.limit)
        else:
            found = search_from(connection, scope, wanted, cursor, query.limit, goes_back=bool(query.older))
    return _document(found)


def _document(page: LogPage) -> Item:
    return {
        "lines": [line_document(line) for line in page.lines],
        "older": page.older,
        "newer": page.newer,
        "searched_from": page.searched_from and page.searched_from.timestamp(),
        "searched_to": page.searched_to and page.searched_to.timestamp(),
    }


def line_document(line: LogLine) -> Item:
    return {
        "id": format_cursor((line.time, line.hash)),
        "time": line.time.timestamp(),
        "level": line.level,
        "role": line.role,
        "worker": line.worker_id,
        "name": line.worker,
        "pid": line.pid or None,
        "logger": line.logger,
        "message": line.message,
        "traceback": line.traceback,
    }


def _counts(found: LogCounts) -> Item:
    return {
        "first": found.first / 1e6,
        "width": found.width / 1e6,
        "levels": [{"level": level, "counts": counts} for level, counts in found.counts.items()],
        "counted_from": None if found.counted_from is None else found.counted_from / 1e6,
    }
