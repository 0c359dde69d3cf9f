"""What an unprepared workload is, and their register."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from distributed import Client

Work = Callable[[Client, bool], None]
"""runs on a cluster, with its causes or without them; may raise what its tasks raised"""


@dataclass(frozen=True)
class Workload:
    """Small work of one shape with planted causes; its twin is the same work without them."""

    name: str
    causes: tuple[frozenset[str], ...]
    """for each planted cause the kinds of finding that name it; empty: nothing is wrong"""
    work: Work
    has_cost: bool
    """False: the twin says nothing of what the cause costs"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """of the LocalCluster"""
    options_without: Mapping[str, Any] = field(default_factory=dict)
    """of the twin's, where the cause is the cluster"""


WORKLOADS: dict[str, Workload] = {}


def unprepared(
    *causes: str,
    has_cost: bool = True,
    without: Mapping[str, Any] | None = None,
    **options: Any,
) -> Callable[[Work], Work]:
    """Registers a workload; a cause that has several names gives them with `|` between."""

    def register(work: Work) -> Work:
        name = work.__name__
        kinds = tuple(frozenset(cause.split("|")) for cause in causes)
        WORKLOADS[name] = Workload(name, kinds, work, has_cost, options, {**options, **(without or {})})
        return work

    return register
