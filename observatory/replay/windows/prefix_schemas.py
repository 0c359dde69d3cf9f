"""Schemas of a timeline's prefixes and groups; schemas.py says how they are held against real documents."""

from __future__ import annotations

from ninja import Schema

from observatory.replay.answers.shared_fields import shared


@shared("tasks", "seconds", "shortest", "median", "p95", "longest", "histogram", "nbytes")
class Durations(Schema):
    """Computations that end in a window; null: none. Quantiles of over 20,000 spans are right within 1 %."""

    tasks: float
    """failed attempts count as well"""
    seconds: float
    """computing time within the window"""
    shortest: float | None
    median: float | None
    p95: float | None
    longest: float | None
    histogram: list[tuple[int, float]]
    """bins and their tasks: durations of bin b begin with `shortest` * 2^(b / `bins_of_octave`) seconds"""
    nbytes: float
    """sizes of the results"""


@shared("prefix", "name", "transfer", "received", "disk", "serialization", "errors", "retries", "workers")
class PrefixFigures(Durations):
    prefix: int
    name: str
    transfer: float
    """seconds that its tasks waited for data of other workers"""
    received: float
    """bytes that its tasks fetched from other workers, as the agent records them"""
    disk: float
    """seconds of reading and writing"""
    serialization: float
    """seconds, with deserialization"""
    errors: float
    """tasks that failed for good, and retries: attempts that were followed by another; of agents alone"""
    retries: float
    workers: int | None
    """that computed it; null: too many to be counted in this window"""


@shared("group", "prefix", "name", "erred")
class GroupFigures(Durations):
    group: int
    prefix: int
    name: str
    erred: float
    """of `tasks`, as the agent records them"""


@shared("start", "stop", "shortest", "bins_of_octave")
class Bins(Schema):
    """What of a window was recorded (seconds), and the bins of its histograms."""

    start: float
    stop: float
    shortest: float
    bins_of_octave: int


@shared("prefixes", "others", "others_seconds")
class Prefixes(Bins):
    """The prefixes of a window, those that took longest first."""

    prefixes: list[PrefixFigures]
    """at most five hundred"""
    others: int
    """prefixes that are left out"""
    others_seconds: float
    """computing time of all that is left out"""


@shared("groups", "others", "others_seconds")
class Groups(Bins):
    """The groups of a window, those that took longest first."""

    groups: list[GroupFigures]
    """at most five hundred"""
    others: int
    others_seconds: float


@shared("worker", "tasks", "seconds", "longest")
class WorkerShare(Schema):
    """The tasks of a prefix that a worker computed."""

    worker: int
    tasks: float
    seconds: float
    longest: float


@shared("key", "worker", "lane", "start", "stop", "erred")
class SlowTask(Schema):
    """A computation; its times end at the edges of a run."""

    key: str
    worker: int
    lane: int
    start: float
    stop: float
    erred: bool


@shared("slowest", "workers", "worker_count", "groups", "group_count")
class PrefixDetail(Bins):
    """A prefix in a window."""

    slowest: list[SlowTask]
    """at most twenty, the longest first"""
    workers: list[WorkerShare]
    """at most fifty, those that took longest first"""
    worker_count: int | None
    """null: there are too many in this window to tell them apart"""
    groups: list[GroupFigures]
    """at most twenty, those that took longest first"""
    group_count: int
