"""What idle threads waited for: those that wait for others wait for each thread in use alike."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from observatory.why.intervals import Flags, Integers, Intervals, Numbers, Steps
from observatory.why.thread_times.kinds import BUSY, KINDS, ThreadKind
from observatory.why.thread_times.thread_time import ThreadTime

FREE = frozenset({ThreadKind.OTHERS, ThreadKind.NOTHING})
"""kinds of threads that nothing keeps"""


class Waits:
    """Where the time of a window's threads went, and for which threads the idle ones waited. In seconds."""

    def __init__(self, time: ThreadTime, unfinished: Intervals) -> None:
        self._time = time
        self.seconds = time.seconds
        idle = (ThreadKind.NOTHING, ThreadKind.OTHER_RUNS)
        self.active = sum(self.seconds[kind] for kind in KINDS if kind not in idle)
        """time of threads while there was something to do, and no task of another run"""
        self.wall = unfinished.seconds
        """how long there was something to do"""

    @property
    def threads(self) -> float:
        """How many there were on average while there was something to do; at least one."""
        return max(1.0, self.active / self.wall) if self.wall else 1.0

    @property
    def most_threads(self) -> float:
        """How many there were at most; at least one."""
        return max(1.0, float(self.all.values.max(initial=0.0)))

    @cached_property
    def taken(self) -> dict[ThreadKind, Steps]:
        """Number of threads of each kind, all with the same edges."""
        return self._time.taken()

    @cached_property
    def all(self) -> Steps:
        """Number of threads."""
        return self.of_kinds(KINDS)

    @cached_property
    def used(self) -> Steps:
        """Number of threads that compute, or that something keeps."""
        return self.of_kinds([kind for kind in KINDS if kind not in FREE])

    @cached_property
    def in_use(self) -> Steps:
        """Number of threads that compute, or that something on their worker keeps."""
        waiting = self.taken[ThreadKind.SCHEDULER].values
        return Steps(self.used.edges, self.used.values - (waiting if len(self.used.edges) else 0))

    @cached_property
    def idle(self) -> Steps:
        """Threads that wait for others, of each thread in use."""
        others = self.taken[ThreadKind.OTHERS]
        return Steps(others.edges, others.values / np.maximum(self.used.values, 1))

    def waited_for(self, times: Intervals) -> Numbers:
        """How long other threads waited for one thread in each interval."""
        return self.idle.integrals(times) / 1e6

    def of_kind(self, kind: ThreadKind) -> float:
        """The time of a kind, with that of the threads that waited for those of the kind."""
        edges, values = self.taken[kind].edges, self.taken[kind].values
        if len(edges) < 2:
            return 0.0
        return float((values * (1 + self.idle.values) * np.diff(edges)).sum()) / 1e6

    def of_kind_during(self, kind: ThreadKind, workers: dict[int, Intervals]) -> float:
        """As `of_kind`, of some workers at some times, which are separate and in order."""
        found = 0.0
        for worker, times in workers.items():
            if worker in self._time.workers:
                taken = self._time.taken_by(worker, kind)
                found += self._with_idle(taken, times)
        return found

    def of_kinds_during(self, kinds: Iterable[ThreadKind], worker: int, times: Intervals) -> float:
        """As `of_kind`, of some kinds and one worker at some times, which are separate and in order."""
        return sum(self.of_kind_during(kind, {worker: times}) for kind in kinds)

    def during(self, kind: ThreadKind, times: Intervals) -> float:
        """The time of a kind in intervals, which are separate and in order."""
        return float(self.taken[kind].integrals(times).sum()) / 1e6

    def while_none_computes(self, kind: ThreadKind, times: Intervals) -> float:
        """The time of a kind in intervals, which are separate and in order, while no thread computed."""
        taken = self.taken[kind]
        none = Steps(taken.edges, np.where(self._computes, 0.0, taken.values))
        return float(none.integrals(times).sum()) / 1e6

    def seconds_while_any_computes(self, times: Intervals) -> float:
        """For how much of intervals, which are separate and in order, any thread computed."""
        any_thread = Steps(self.taken[ThreadKind.OTHERS].edges, self._computes.astype(np.float64))
        return float(any_thread.integrals(times).sum()) / 1e6

    @property
    def _computes(self) -> Flags:
        """Whether any thread computes between two edges."""
        return np.asarray(self.of_kinds(BUSY).values > 0)

    def of_kinds(self, kinds: Iterable[ThreadKind]) -> Steps:
        """Number of threads of some kinds."""
        edges = self.taken[ThreadKind.OTHERS].edges
        found = np.zeros(max(0, len(edges) - 1))
        for kind in kinds:
            found += self.taken[kind].values
        return Steps(edges, found)

    def _with_idle(self, taken: Steps, times: Intervals) -> float:
        """Seconds of what is taken at some times, each with the threads that waited for it."""
        if len(taken.edges) < 2 or not len(times):
            return 0.0
        until = self._until(taken.edges)
        sums = np.concatenate([[0.0], np.cumsum(taken.values * np.diff(until))])
        first, last = (np.interp(self._until(at), until, sums) for at in (times.start, times.stop))
        return float((last - first).sum()) / 1e6

    def _until(self, times: Integers) -> Numbers:
        """Microseconds of a thread in use, with those of the threads that waited for it, until each time."""
        idle = self.idle
        if len(idle.edges) < 2:
            return times.astype(np.float64)
        return np.asarray(times + np.interp(times, idle.edges, idle.integral))
