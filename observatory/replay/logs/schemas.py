"""Schemas of a timeline's logs; schemas.py says how they are held against real documents."""

from __future__ import annotations

from ninja import Schema

from observatory.replay.answers.shared_fields import shared
from observatory.replay.scope import Section


@shared(
    "id", "time", "level", "role", "worker", "name", "pid", "logger", "message", traceback=Section.TRACEBACKS
)
class LogLineOut(Schema):
    """A record of Python's logging in a process of the cluster."""

    id: str
    """place of the line in the order of lines; `older` and `newer` accept it"""
    time: float
    level: int
    """10 debug, 20 info, 30 warning, 40 error, 50 critical"""
    role: str
    """scheduler, worker or nanny"""
    worker: int | None
    """id"""
    name: str
    """name or address of the worker"""
    pid: int | None
    """null: hidden"""
    logger: str
    message: str
    traceback: str


@shared("lines", "older", "newer", "searched_from", "searched_to")
class Logs(Schema):
    """Log lines in order of time."""

    lines: list[LogLineOut]
    older: str | None
    newer: str | None
    """continue with the next lines on a side; null: there are none, or they were not asked for"""
    searched_from: float | None
    searched_to: float | None
    """where the search stopped because it took too long"""


@shared("level", "counts")
class LogLevelCounts(Schema):
    level: int
    counts: list[int]
    """by bin, up to the last with lines"""


@shared("first", "width", "levels", "counted_from")
class LogCountsOut(Schema):
    """Numbers of log lines by level and time."""

    first: float
    """start of the first bin"""
    width: float
    """of a bin, in seconds"""
    levels: list[LogLevelCounts]
    """those with lines; a line counts with the greatest of 10, 20, 30, 40 and 50 that its level reaches"""
    counted_from: float | None
    """lines before this are not counted, because searching them takes too long"""
