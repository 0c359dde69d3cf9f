"""Schemas of the outliers of a window; replay/schemas.py says how they are held against documents."""

from __future__ import annotations

from ninja import Schema

from observatory.replay.answers.shared_fields import shared


@shared("duration_ratio", "errors", "memory_slope", "paused", "received")
class OutlierFigures(Schema):
    """Figures of a window. null: unknown, or none."""

    duration_ratio: float | None
    """computing time, relative to what its tasks take at the medians of their prefixes"""
    errors: float | None
    """failed attempts"""
    memory_slope: float | None
    """growth of the process, in bytes a second"""
    paused: float | None
    """seconds"""
    received: float | None
    """bytes from other workers; null: none, or their sizes aren't known"""


@shared("worker")
class Outlier(OutlierFigures):
    """A worker that stands out by one of its figures."""

    worker: int
    """id"""


@shared("host", "workers")
class OutlierHost(OutlierFigures):
    """A host that stands out by one of the figures of its workers together."""

    host: str
    workers: int
    """with a figure"""


@shared("key", "prefix", "worker", "lane", "start", "stop", "ratio")
class OutlierTask(Schema):
    """A straggler: a task that computed for much longer than is usual for its prefix."""

    key: str
    prefix: int
    worker: int
    lane: int
    start: float
    stop: float
    ratio: float
    """its duration over the median of its prefix"""


@shared("workers", "hosts", "tasks")
class Outliers(Schema):
    """What stands out in a window: of each figure the ten with the greatest value."""

    workers: list[Outlier]
    hosts: list[OutlierHost]
    """none of a cluster on one host"""
    tasks: list[OutlierTask]
    """those that took longest beyond the median first"""
