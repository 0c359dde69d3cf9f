"""What a scenario is, and the registers of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from distributed import Client

Work = Callable[[Client, bool], None]
"""runs on a cluster, with the cause or without it; may raise what its tasks raised"""


@dataclass(frozen=True)
class Scenario:
    """A workload that runs with its cause and without it: the difference is what the cause costs."""

    name: str
    cause: str
    """the kind of finding"""
    work: Work
    is_judged: bool
    """the detectors were not built on it"""
    has_cost: bool
    """False: the run isn't shorter without the cause"""
    is_computing: bool
    """its tasks stand for some that compute (tasks.AsIfTheyComputed); False: they wait as they do"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """of the LocalCluster"""


SEEDED: dict[str, Scenario] = {}


def seeded(
    cause: str, *, is_judged: bool = False, has_cost: bool = True, is_computing: bool = True, **options: Any
) -> Callable[[Work], Work]:
    """Registers a scenario under the name of its function."""

    def register(work: Work) -> Work:
        name = work.__name__
        SEEDED[name] = Scenario(name, cause, work, is_judged, has_cost, is_computing, options)
        return work

    return register
