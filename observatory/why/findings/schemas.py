"""Schemas of findings; replay/schemas.py says how they are held against documents."""

from __future__ import annotations

from ninja import Schema

from observatory.replay.answers.shared_fields import shared
from observatory.why.marks.schemas import FindingMarkItem


@shared("label", "value")
class FindingFact(Schema):
    label: str
    value: str


@shared("label", "time")
class FindingMoment(Schema):
    label: str
    time: float


@shared("key", "prefix", "worker", "lane", "start", "stop")
class FindingTask(Schema):
    key: str
    prefix: int
    worker: int
    lane: int
    start: float
    stop: float


@shared(
    "kind",
    "is_failure",
    "sentence",
    "thread_seconds",
    "wall_seconds",
    "least_wall_seconds",
    "most_wall_seconds",
    "together_seconds",
    "facts",
    "moments",
    "tasks",
    "workers",
    "prefixes",
    "advice",
    "documentation",
    "mark",
)
class FindingItem(Schema):
    """A cause of lost time or failure."""

    kind: str
    is_failure: bool
    """it is listed first, whatever it costs"""
    sentence: str
    thread_seconds: float
    """of threads, that would be saved without the cause"""
    wall_seconds: float
    """by which the window would be shorter without the cause"""
    least_wall_seconds: float | None = None
    most_wall_seconds: float | None = None
    """the interval that holds the truth eight times of ten; null: `wall_seconds` is a sum of times and was
    not simulated"""
    together_seconds: float = 0.0
    """by which it would be shorter without the other findings as well, where they explain the time only
    together; else 0"""
    facts: list[FindingFact]
    moments: list[FindingMoment]
    tasks: list[FindingTask]
    workers: list[int]
    prefixes: list[int]
    advice: str
    documentation: str
    """URL"""
    mark: FindingMarkItem | None = None
    """that people marked it in runs of this name; the marked ones are last"""


@shared("start", "stop", "has_agent", "looked_for", "findings")
class Findings(Schema):
    """The causes of lost time or failure in a window, the most costly first, marked ones last."""

    start: float
    stop: float
    has_agent: bool
    """without one, many causes can't be told"""
    looked_for: list[str]
    findings: list[FindingItem]
