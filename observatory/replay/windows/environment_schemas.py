"""Schemas of a timeline's environment; schemas.py says how they are held against real documents."""

from __future__ import annotations

from typing import Literal

from ninja import Schema

from observatory.replay.answers.shared_fields import shared


@shared("value", "count", "workers")
class FactValue(Schema):
    value: str
    count: int
    """of the workers that have it"""
    workers: list[int]
    """ids of the first fifty"""


@shared("kind", "name", "differs", "values", "more_values")
class EnvironmentFact(Schema):
    """What the processes told of themselves, such as the version of a package."""

    kind: Literal["label", "hardware", "version", "environment", "configuration", "release"]
    name: str
    differs: bool
    """whether the processes have different values; a worker that didn't tell has another one"""
    scheduler: str | None
    """its value; null: not told"""
    client: str | None
    """that of the last client that opened a run; null: not told"""
    values: list[FactValue]
    """the most frequent first"""
    more_values: int
    """that are left out"""


@shared("workers", "is_hidden", "facts")
class Environment(Schema):
    """Machines, versions, configuration and surroundings of the processes of a window."""

    workers: int
    """number of lifetimes"""
    is_hidden: bool
    """a public link tells threads and memory limits only"""
    facts: list[EnvironmentFact]
