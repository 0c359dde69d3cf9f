"""Which computation each computation had to wait for: what it needed, and the one before it on its thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from observatory.why.intervals import Integers
from observatory.why.records import Graph, Spans

NONE = -1
MOST_IDS = 10_000_000
"""between the least and the largest id, that are counted instead of sorted"""


class LastEnded:
    """Finds the computation of an owner (task, group, lane, worker) that ended last before a time."""

    def __init__(self, owner: Integers, stop: Integers) -> None:
        self._owners, code = _codes(owner)
        self._first, last = _first_and_last(stop)
        self._width = last - self._first + 2
        place = code * self._width + (stop - self._first) + 1
        self._order: Integers = np.argsort(place)
        self._places = place[self._order]

    def __call__(self, owner: Integers, before: Integers) -> Integers:
        """Return places of computations that ended at `before` or earlier; NONE: there is none."""
        if not len(self._owners):
            return np.full(len(owner), NONE, np.int64)
        code = np.minimum(np.searchsorted(self._owners, owner), len(self._owners) - 1)
        time = np.clip(before - self._first + 1, 0, self._width - 1)
        place = np.searchsorted(self._places, code * self._width + time, side="right") - 1
        is_found = (place >= 0) & (self._owners[code] == owner)
        is_found &= self._places[np.maximum(place, 0)] // self._width == code
        return np.where(is_found, self._order[np.maximum(place, 0)], NONE)

    def each(self, owner: int, before: int) -> Iterator[int]:
        """Yield those of one owner, the last one first."""
        code = int(self._owners.searchsorted(owner))
        if code == len(self._owners) or self._owners[code] != owner:
            return
        time = min(max(before - self._first + 1, 0), self._width - 1)
        place = int(self._places.searchsorted(code * self._width + time, side="right")) - 1
        while place >= 0 and int(self._places[place]) // self._width == code:
            yield int(self._order[place])
            place -= 1

    def between(self, owner: int, after: int, before: int) -> Integers:
        """Return those of one owner that ended after `after`, until `before`, the first one first."""
        code = int(self._owners.searchsorted(owner))
        if code == len(self._owners) or self._owners[code] != owner:
            return np.zeros(0, np.int64)
        times = np.clip(np.array([after, before]) - self._first + 1, 0, self._width - 1)
        first, last = self._places.searchsorted(code * self._width + times, side="right").tolist()
        found: Integers = self._order[first:last]
        return found


class PlacesOfTasks:
    """Finds the computations of tasks, nearly all of which compute once.

    A task is a hash: its first bits lead to nearly its place, where a search among a million would miss the
    processor's caches at each step.
    """

    def __init__(self, computing: Spans) -> None:
        self._order: Integers = np.argsort(computing.task)
        self._task = computing.task[self._order]
        starts = np.flatnonzero(np.diff(self._task, prepend=self._task[:1] - 1))
        self._counts = np.zeros(len(computing), np.int64)
        self._counts[starts] = np.diff(starts, append=len(computing))
        bits = max(1, len(computing).bit_length())
        self._shift = 64 - bits
        self._begins = np.searchsorted(self._task >> self._shift, np.arange(2**bits) - 2 ** (bits - 1))

    def first(self, tasks: Integers) -> Integers:
        """The place of each task's first computation among `self`'s; NONE: it did not compute."""
        if not len(self._task):
            return np.full(len(tasks), NONE, np.int64)
        last = len(self._task) - 1
        found = np.minimum(self._begins[(tasks >> self._shift) + len(self._begins) // 2], last)
        ahead = np.flatnonzero(self._task[found] < tasks)
        while len(ahead):
            found[ahead] += 1
            ahead = ahead[found[ahead] <= last]
            ahead = ahead[self._task[found[ahead]] < tasks[ahead]]
        found = np.minimum(found, last)
        return np.where(self._task[found] == tasks, found, NONE)

    def counts(self, first: Integers) -> Integers:
        return np.where(first == NONE, 0, self._counts[first]) if len(self._task) else first * 0

    def places(self, at: Integers) -> Integers:
        return self._order[at]


@dataclass(frozen=True, slots=True)
class Predecessors:
    """The computations that each computation needed the results of, as places in the columns."""

    first: Integers
    """of computation i: places[first[i]:first[i + 1]]"""
    places: Integers

    @classmethod
    def of_edges(cls, needing: Integers, needed: Integers, count: int) -> Predecessors:
        """Of `count` computations; each edge is at one place of both arrays."""
        order = np.argsort(needing, kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(needing, minlength=count))])
        return cls(first.astype(np.int64), needed[order])

    def of(self, place: int) -> Integers:
        return self.places[self.first[place] : self.first[place + 1]]

    @property
    def counts(self) -> Integers:
        """How many computations each one needed."""
        return np.diff(self.first)

    @property
    def needing(self) -> Integers:
        """The computation that needed each of `places`."""
        return np.repeat(np.arange(len(self.first) - 1), self.counts)


def needed_computations(computing: Spans, graph: Graph, clock_error: Integers) -> Predecessors:
    """The last computations, before each computation began, of the tasks that it needed.

    Of a group whose edges were recorded between groups alone: the last one of each needed group.
    `clock_error`: by how much the times of each computation can be wrong, in microseconds.
    """
    is_known_by_task = np.isin(graph.needing_group, np.unique(graph.group))
    by_task = _needed_tasks(computing, graph, clock_error)
    by_group = _expanded(
        computing.group, graph.needing_group[~is_known_by_task], graph.needs_group[~is_known_by_task]
    )
    sources = np.concatenate([by_task[0], by_group[0]])
    targets = np.concatenate([by_task[1], _last_of(computing, clock_error, computing.group, *by_group)])
    is_found = targets != NONE
    return Predecessors.of_edges(sources[is_found], targets[is_found], len(computing))


def _needed_tasks(computing: Spans, graph: Graph, clock_error: Integers) -> tuple[Integers, Integers]:
    """Each edge between tasks, of each computation: its place, and that of what it needed; NONE: none."""
    known = PlacesOfTasks(computing)
    needing, needed = known.first(graph.task), known.first(graph.needs_task)
    counts = np.where(needed == NONE, 0, known.counts(needing))
    edges = np.repeat(np.arange(len(needing)), counts)
    within = np.arange(len(edges)) - np.repeat(np.cumsum(counts) - counts, counts)
    sources = known.places(needing[edges] + within)
    targets = known.places(needed[edges])
    start, ended = computing.times.start[sources], computing.times.stop[targets] - clock_error[targets]
    is_before = (ended <= start + clock_error[sources]) & (computing.times.start[targets] < start)
    targets = np.where(is_before, targets, NONE)
    often = np.flatnonzero(known.counts(needed[edges]) > 1)
    if len(often):
        needs = graph.needs_task[edges[often]]
        targets[often] = _last_of(computing, clock_error, computing.task, sources[often], needs)
    return sources, targets


def previous_of(owner: Integers, start: Integers) -> Integers:
    """The place of the computation before each one of its owner (lane, task); NONE: it was the first."""
    _, code = _codes(owner)
    first, last = _first_and_last(start)
    order = np.argsort(code * (last - first + 1) + start - first)
    is_same = code[order][1:] == code[order][:-1]
    previous = np.full(len(owner), NONE, np.int64)
    previous[order[1:]] = np.where(is_same, order[:-1], NONE)
    return previous


def _first_and_last(times: Integers) -> tuple[int, int]:
    """From the first time on, not from 1970: an owner's number times the width has to fit in 64 bits."""
    return (int(times.min()), int(times.max())) if len(times) else (0, 0)


def _codes(owner: Integers) -> tuple[Integers, Integers]:
    """The owners, and the place of each one of `owner` among them."""
    least = int(owner.min(initial=0))
    if int(owner.max(initial=0)) - least > MOST_IDS:
        owners, code = np.unique(owner, return_inverse=True)
        return owners, code
    is_there = np.bincount(owner - least) > 0
    return np.flatnonzero(is_there) + least, (np.cumsum(is_there) - 1)[owner - least]


def _expanded(owner: Integers, needing: Integers, needs: Integers) -> tuple[Integers, Integers]:
    """Each edge of each computation: its place, and what it needs."""
    order = np.argsort(needing, kind="stable")
    first = np.searchsorted(needing[order], owner, side="left")
    counts = np.searchsorted(needing[order], owner, side="right") - first
    places = np.repeat(np.arange(len(owner)), counts)
    within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    return places, needs[order][np.repeat(first, counts) + within]


def _last_of(
    computing: Spans, clock_error: Integers, owner: Integers, places: Integers, needs: Integers
) -> Integers:
    """Of each edge the computation of what is needed that ended last before the needing one began."""
    start = computing.times.start[places]
    last = LastEnded(owner, computing.times.stop - clock_error)
    found = last(needs, start + clock_error[places])
    # of short tasks, one that ended within the clocks' errors may have begun later
    has_begun = (found != NONE) & (computing.times.start[found] < start)
    return np.where(has_begun, found, last(needs, start))
