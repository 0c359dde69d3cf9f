"""Intervals and step functions as arrays. Times are int64 microseconds; intervals are [start, stop)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Intervals:
    start: Integers
    stop: Integers

    @classmethod
    def of(cls, start: Integers, stop: Integers) -> Intervals:
        return cls(start.astype(np.int64), stop.astype(np.int64))

    @classmethod
    def none(cls) -> Intervals:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.start)

    @property
    def lengths(self) -> Integers:
        return self.stop - self.start

    @property
    def seconds(self) -> float:
        """The sum of all lengths, in seconds."""
        return float(self.lengths.sum()) / 1e6

    def where(self, condition: Flags | Integers) -> Intervals:
        return Intervals(self.start[condition], self.stop[condition])

    def clipped(self, start: int, stop: int) -> Intervals:
        """All of them, as many as before: what is outside has no length."""
        first = np.clip(self.start, start, stop)
        return Intervals(first, np.maximum(first, np.clip(self.stop, start, stop)))

    def counts(self, edges: Integers) -> Integers:
        """How many intervals cover each segment between two edges. Their ends are among the edges."""
        # in order, as neighbours are searched for near each other: five times as fast for 100,000
        begun, ended = (np.searchsorted(edges, np.sort(at)) for at in (self.start, self.stop))
        change = np.bincount(begun, minlength=len(edges)) - np.bincount(ended, minlength=len(edges))
        return np.asarray(np.cumsum(change)[:-1], np.int64)

    def covers(self, edges: Integers) -> Flags:
        """Whether they, which are separate and in order, cover each segment between two edges."""
        return self.include(edges[:-1])

    def include(self, times: Integers) -> Flags:
        """Whether they, which are separate and in order, cover each time."""
        if not len(self):
            return np.zeros(len(times), np.bool_)
        place = np.searchsorted(self.start, times, side="right") - 1
        return np.asarray((place >= 0) & (self.stop[np.maximum(place, 0)] > times))

    def union(self) -> Intervals:
        """The times that at least one of them covers, as separate intervals in order."""
        some = self.where(self.stop > self.start)
        if not len(some):
            return Intervals.none()
        order = np.argsort(some.start, kind="stable")
        start, stop = some.start[order], np.maximum.accumulate(some.stop[order])
        is_first = np.concatenate([[True], start[1:] > stop[:-1]])
        is_last = np.concatenate([is_first[1:], [True]])
        return Intervals(start[is_first], stop[is_last])

    def joined(self, gap: int) -> Intervals:
        """The times that they cover, with the gaps between that are shorter than `gap`."""
        longer = Intervals(self.start, self.stop + gap).union()
        return Intervals(longer.start, np.maximum(longer.start, longer.stop - gap))

    def divided(self, start: int, stop: int) -> Iterator[tuple[bool, int, int]]:
        """[start, stop) by whether they, which are separate and in order, cover it: the latest part first."""
        first = int(self.stop.searchsorted(start, side="right"))
        last = int(self.start.searchsorted(stop, side="left"))
        for place in range(last - 1, first - 1, -1):
            begin, end = max(start, int(self.start[place])), min(stop, int(self.stop[place]))
            yield False, end, stop
            yield True, begin, end
            stop = begin
        yield False, start, stop

    def without(self, others: Intervals) -> Intervals:
        """What `others` leave of them; both are separate and in order."""
        edges = distinct_times(self.start, self.stop, others.start, others.stop)
        is_left = self.covers(edges) & ~others.covers(edges) if len(edges) else np.zeros(0, np.bool_)
        return Intervals(edges[:-1][is_left], edges[1:][is_left]).union()


def distinct_times(*times: Integers) -> Integers:
    """All of some times, each once and in order; np.unique takes a hundred times as long for as many."""
    found = np.sort(np.concatenate(times))
    is_first = np.ones(len(found), np.bool_)
    is_first[1:] = found[1:] != found[:-1]
    return np.asarray(found[is_first])


def joined(parts: Sequence[Intervals]) -> Intervals:
    """All of them, in the order of the parts."""
    return Intervals(
        np.concatenate([part.start for part in parts]), np.concatenate([part.stop for part in parts])
    )


@dataclass(frozen=True)
class Steps:
    """A function that is constant between two edges, and 0 outside."""

    edges: Integers
    values: Numbers
    """one less than edges"""

    @cached_property
    def integral(self) -> Numbers:
        """From the first edge up to each edge, in microseconds."""
        return np.concatenate([[0.0], np.cumsum(self.values * np.diff(self.edges))])

    @property
    def seconds(self) -> float:
        """The integral over all times, in seconds."""
        return float((self.values * np.diff(self.edges)).sum()) / 1e6

    def at(self, times: Integers) -> Numbers:
        """The values at some times."""
        return values_at([self], times)[0]

    def integrals(self, intervals: Intervals) -> Numbers:
        """The integral over each interval."""
        if len(self.edges) < 2 or not len(intervals):
            return np.zeros(len(intervals))
        integral = self.integral
        start, stop = (np.interp(at, self.edges, integral) for at in (intervals.start, intervals.stop))
        return np.asarray(stop - start)


def values_at(functions: Sequence[Steps], times: Integers) -> list[Numbers]:
    """The values of functions, which have the same edges, at some times."""
    edges = functions[0].edges
    place = np.searchsorted(edges, times, side="right") - 1
    inside = (place >= 0) & (place < len(edges) - 1)
    place = np.clip(place, 0, max(0, len(edges) - 2))
    return [np.where(inside, function.values[place], 0.0) for function in functions]


NONE = Steps(np.zeros(0, np.int64), np.zeros(0))
"""0 at all times"""


def added(functions: Sequence[Steps]) -> Steps:
    """The sum of step functions."""
    times = [function.edges for function in functions if len(function.edges)]
    if not times:
        return NONE
    if all(one is times[0] for one in times):
        some = [function.values for function in functions if len(function.edges)]
        return Steps(times[0], np.asarray(sum(some[1:], start=some[0])))
    return added_at(distinct_times(*times), functions)


def added_at(edges: Integers, functions: Sequence[Steps]) -> Steps:
    """The sum of step functions, with these edges, among which are theirs."""
    some = [function for function in functions if len(function.edges)]
    if not some or len(edges) < 2:
        return Steps(edges, np.zeros(max(0, len(edges) - 1)))
    places = np.searchsorted(edges, np.concatenate([function.edges for function in some]))
    changes = np.concatenate([np.diff(function.values, prepend=0.0, append=0.0) for function in some])
    change = np.bincount(places, changes, len(edges))
    return Steps(edges, np.cumsum(change)[:-1].astype(np.float64))
