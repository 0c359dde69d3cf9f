"""A finding, and a kind of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.without import Without

if TYPE_CHECKING:
    from observatory.why.findings.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Cost:
    """What would be saved without the cause; docs/why.md says how each kind estimates it."""

    thread_seconds: float = 0.0
    """time of threads that the cause took, as a sum"""
    wall_seconds: float = 0.0
    """by which the window would have been shorter"""
    interval: tuple[float, float] | None = None
    """that holds the true `wall_seconds` eight times of ten; None: they are a sum, not simulated"""
    together: float = 0.0
    """by which it would be shorter without the other findings as well, where that is far more than each of
    them says; else 0"""


Part = tuple[tuple[ThreadKind, ...], float]
"""Seconds of threads, and the kinds that they are of: first that of which most is."""


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Moment:
    label: str
    time: float
    """seconds, on the timeline"""


@dataclass(frozen=True, slots=True)
class FoundTask:
    """A computation. Times are seconds."""

    key: str
    prefix: int
    worker: int
    lane: int
    start: float
    stop: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause of lost time or failure. Its texts are as the scope shows them."""

    sentence: str
    cost: Cost
    facts: tuple[Fact, ...] = ()
    moments: tuple[Moment, ...] = ()
    tasks: tuple[FoundTask, ...] = ()
    workers: tuple[int, ...] = ()
    """ids of those that it is about; empty: all"""
    prefixes: tuple[int, ...] = ()
    """ids of those that it is about; empty: all"""
    advice: str = ""
    """empty: that of its kind"""
    without: Without | None = None
    """what a simulation leaves out to tell its cost; None: it can't be simulated"""
    parts: tuple[Part, ...] = ()
    """of its cost, where it is known how much is of which kinds; empty: all is of `counts` of its kind"""

    def overlaps(self, other: Finding) -> bool:
        """Whether both can be about the same workers and prefixes."""
        return _share(self.workers, other.workers) and _share(self.prefixes, other.prefixes)


@dataclass(frozen=True, slots=True)
class FindingKind:
    """A module of kinds/ has one as its KIND."""

    title: str
    """the cause, as it is named where it was looked for in vain"""
    advice: str
    """what one could do"""
    documentation: str
    """URL of the page about it"""
    find: Callable[[Evidence], Iterable[Finding]]
    counts: tuple[ThreadKind, ...] = ()
    """the time of threads that its cost consists of: first that of which most is; empty: no thread's"""
    is_failure: bool = False
    """it is listed before all others, whatever it costs"""
    explained_by: tuple[str, ...] = ()
    """names of kinds that cause it: it isn't listed beside one of them that it overlaps"""


def _share(some: tuple[int, ...], others: tuple[int, ...]) -> bool:
    return not some or not others or bool(set(some) & set(others))
