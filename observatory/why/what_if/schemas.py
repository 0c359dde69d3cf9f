"""Schemas of what a window would have taken with changes; replay/schemas.py says how they are held against
documents. Times are seconds.
"""

from __future__ import annotations

from ninja import Schema

from observatory.replay.answers.shared_fields import shared


@shared(
    "workers",
    "threads",
    "prefix",
    "times_as_fast",
    "no_transfers",
    "unlimited_memory",
    "from_start",
    "seconds",
    "least",
    "most",
)
class HelpfulChange(Schema):
    """None, 1 and false: as it was."""

    workers: int | None
    threads: int | None
    """of each worker"""
    prefix: int | None
    times_as_fast: float
    """the tasks of the prefix"""
    no_transfers: bool
    unlimited_memory: bool
    """nothing is spilled, and no worker is paused"""
    from_start: bool
    """all workers are there from the start of the window on, and none leaves"""
    seconds: float
    """that the window would have taken"""
    least: float
    most: float
    """the interval that holds the truth eight times of ten"""


@shared("workers", "seconds", "least", "most", "naive")
class SizePrediction(Schema):
    workers: int
    seconds: float
    least: float
    most: float
    naive: float
    """the time of all tasks, divided by the threads"""


@shared("prefix", "name")
class PrefixChoice(Schema):
    prefix: int
    name: str


@shared(
    "start",
    "stop",
    "has_agent",
    "seconds",
    "simulated",
    "workers",
    "threads",
    "doubts",
    "changes",
    "sizes",
    "prefixes",
)
class WhatIf(Schema):
    """What would have helped most. Lists are empty where nothing can be predicted."""

    start: float
    stop: float
    has_agent: bool
    """without one, nothing is predicted"""
    seconds: float
    """of the window"""
    simulated: float | None
    """what the simulation takes without any change; predictions are scaled by how far it is off"""
    workers: int
    threads: int
    """of most workers"""
    doubts: list[str]
    """why predictions aren't to be trusted, in sentences"""
    changes: list[HelpfulChange]
    """at most three, those that save most first"""
    sizes: list[SizePrediction]
    prefixes: list[PrefixChoice]
    """at most fifty, those that computed longest first"""


@shared("start", "stop", "seconds", "least", "most", "naive", "doubts")
class Prediction(Schema):
    """What the asked change would have done; null: nothing can be predicted."""

    start: float
    stop: float
    seconds: float | None
    least: float | None
    most: float | None
    """the interval that holds the truth eight times of ten"""
    naive: float | None
    """the time of all tasks, divided by the threads"""
    doubts: list[str]
