"""Graphs that begin again from the beginning: each does what the one before it did, and one step more.

Their tasks have other keys, as steps that follow each other are fused into one task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from observatory.why.critical_path.predecessors import Predecessors
from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.intervals import Flags, Integers, Numbers

FEWEST = 4
"""graphs, one after the other"""
LEAST_GROWTH = 2.0
"""times as long as in the first graph, that tasks take in the last"""
MOST_UNEQUAL = 2.5
"""times the mean of what the graphs add, or a part of it: what each adds is between"""


@dataclass(frozen=True, slots=True)
class GrowingGraphs:
    prefix: int
    """of the tasks in which they begin"""
    means: list[float]
    """seconds of a task of each graph"""
    tasks: int
    """of each graph"""
    rows: Integers
    """the computations of all graphs but the first"""
    repeated: Numbers
    """seconds of each that its graph had in common with the one before"""


def growing_graphs(found: Computations, needed_by: Callable[[int], Predecessors]) -> Iterator[GrowingGraphs]:
    """Yield those of each prefix. `needed_by`: what the computations of a prefix needed."""
    groups = _Groups.of(found)
    for places in groups.growing():
        rows = [np.flatnonzero(found.finished & (found.spans.group == groups.group[one])) for one in places]
        prefix, means = int(groups.prefix[places[0]]), groups.mean[places].tolist()
        if _needs_none_since(found, needed_by(prefix), np.concatenate(rows), int(groups.start[places[0]])):
            later = rows[1:]
            before = zip(means[:-1], later, strict=True)
            repeated = [np.minimum(seconds, found.durations[own]) for seconds, own in before]
            yield GrowingGraphs(prefix, means, len(rows[0]), np.concatenate(later), np.concatenate(repeated))


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups of the tasks that finished, those of a prefix in the order in which they began."""

    group: Integers
    prefix: Integers
    count: Integers
    mean: Numbers
    """seconds of a task"""
    start: Integers
    stop: Integers

    @classmethod
    def of(cls, found: Computations) -> _Groups:
        spans = found.spans.where(found.finished)
        group, first, place = np.unique(spans.group, return_index=True, return_inverse=True)
        count = np.bincount(place, minlength=len(group))
        mean = np.bincount(place, found.durations[found.finished], len(group)) / count
        start, stop = np.full(len(group), np.iinfo(np.int64).max), np.zeros(len(group), np.int64)
        np.minimum.at(start, place, spans.times.start)
        np.maximum.at(stop, place, spans.times.stop)
        prefix = spans.prefix[first]
        order = np.lexsort((start, prefix))
        return cls(group[order], prefix[order], count[order], mean[order], start[order], stop[order])

    def growing(self) -> Iterator[Integers]:
        """Yield the places of those that follow each other and take longer by nearly the same each time."""
        edges = np.append(np.flatnonzero(~self._follows), len(self.group)).tolist()
        for first, last in pairwise(edges):
            if last - first >= FEWEST and self._grows(self.mean[first:last]):
                yield np.arange(first, last)

    @property
    def _follows(self) -> Flags:
        """Whether each begins after the one before of its prefix, has as many tasks, and takes longer."""
        found = np.zeros(len(self.group), np.bool_)
        found[1:] = (
            (self.prefix[1:] == self.prefix[:-1])
            & (self.count[1:] == self.count[:-1])
            & (self.start[1:] >= self.stop[:-1])
            & (self.mean[1:] > self.mean[:-1])
        )
        return found

    @staticmethod
    def _grows(mean: Numbers) -> bool:
        added = np.diff(mean)
        usual = float(added.mean())
        is_equal = (added >= usual / MOST_UNEQUAL) & (added <= usual * MOST_UNEQUAL)
        return bool(mean[-1] >= LEAST_GROWTH * mean[0] and is_equal.all())


def _needs_none_since(found: Computations, needed: Predecessors, rows: Integers, start: int) -> bool:
    """Whether none of some computations needed one that ended since a time (microseconds)."""
    places = [needed.of(row) for row in rows.tolist()]
    return not bool((found.spans.times.stop[np.concatenate(places)] > start).any())
