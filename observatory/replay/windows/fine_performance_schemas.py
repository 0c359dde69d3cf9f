"""Schemas of fine performance metrics; schemas.py says how they are held against real documents."""

from __future__ import annotations

from ninja import Schema

from observatory.replay.answers.shared_fields import shared


@shared("context", "prefix", "name", "activity", "unit", "value")
class Activity(Schema):
    """What the tasks of a prefix did with one activity."""

    context: str
    """execute, gather-dep, p2p and others"""
    prefix: int | None
    """id; null: not of a prefix"""
    name: str
    """of the prefix; empty: not of a prefix"""
    activity: str
    """thread-cpu, disk-read, transfer and others"""
    unit: str
    """seconds, bytes, count"""
    value: float


@shared("names", "activity", "unit", "value")
class SpanActivity(Schema):
    """What the tasks of Dask spans with these names did with one activity."""

    names: list[str]
    activity: str
    unit: str
    value: float


@shared("activities", "spans")
class FinePerformance(Schema):
    activities: list[Activity]
    """the largest first"""
    spans: list[SpanActivity] | None
    """null: too many rows for this window"""
