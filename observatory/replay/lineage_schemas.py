"""Schemas of a task's lineage and of steals; schemas.py says how they are held against real documents."""

from __future__ import annotations

from ninja import Schema

from observatory.replay.answers.shared_fields import shared


@shared("lane", "start", "stop")
class LineageSpan(Schema):
    """A computing span of a task."""

    lane: int
    start: float
    stop: float


@shared("key", "prefix", "spans")
class LineageTask(Schema):
    """A task of a lineage; it has no spans if it did not compute."""

    key: str
    prefix: int
    spans: list[LineageSpan]


@shared("total", "tasks")
class LineageTasks(Schema):
    """Up to 200 tasks, those first that computed nearest in time to the task whose lineage it is."""

    total: int
    tasks: list[LineageTask]


@shared("key", "nbytes")
class TransferredKey(Schema):
    key: str
    nbytes: float | None
    """null: unknown"""


@shared("lane", "start", "stop", "peer", "nbytes", "count", "keys")
class LineageTransfer(Schema):
    """A transfer that a worker made for a task: the span that shows it, and what it brought."""

    lane: int
    start: float
    stop: float
    peer: int | None
    """id of the worker that sent the data; null: unknown"""
    nbytes: float
    count: int
    """number of keys"""
    keys: list[TransferredKey]
    """the first 20"""


@shared("time", "victim", "thief", "cost", "victim_occupancy", "thief_occupancy")
class LineageSteal(Schema):
    """A steal: the task waited on `victim` and was moved to `thief`, ids of workers. null: unknown."""

    time: float
    victim: int | None
    thief: int | None
    cost: float | None
    """of the move, in seconds, as Dask expected"""
    victim_occupancy: float | None
    thief_occupancy: float | None
    """work that waited on the workers, in seconds"""


@shared("key", "prefix", "spans", "dependencies", "dependents", "transfers", "steals")
class Lineage(Schema):
    """What a task was made of (dependencies), and what was made of it (dependents); how it moved.

    Only agents report dependencies, transfers and steals. The lineage of a window has only tasks that
    computed in it.
    """

    key: str
    prefix: int | None
    """null: the task did not compute"""
    spans: list[LineageSpan]
    """its attempts, in order of time"""
    dependencies: LineageTasks
    dependents: LineageTasks
    transfers: list[LineageTransfer]
    steals: list[LineageSteal]


@shared("key", "prefix", "time", "victim", "thief")
class StolenTask(Schema):
    """A task that was stolen: `victim` and `thief` are ids of workers, null: unknown."""

    key: str
    prefix: int
    time: float
    victim: int | None
    thief: int | None


@shared("total", "tasks")
class StolenTasks(Schema):
    """The first 1,000 steals of a time range that succeeded. Only agents report them."""

    total: int
    tasks: list[StolenTask]
