"""When the client submitted the tasks of a window, and what it waited for before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from observatory.why.critical_path.predecessors import NONE, LastEnded, Predecessors, previous_of
from observatory.why.intervals import Integers, Intervals, Steps
from observatory.why.records import Records, Spans
from observatory.why.what_if.recorded.reactions import followed
from observatory.wire.records import TASK_STATES

RELEASED = TASK_STATES.index("released")
PAUSE = 5_000
"""microseconds without a submission, after which another one begins"""


@dataclass(frozen=True, slots=True)
class Submission:
    """Tasks that were submitted together."""

    places: list[int]
    """of their computations"""
    seconds: float
    """since what is waited for: the end of all tasks before, or the submission before"""
    waits: bool
    """for all tasks that were submitted before, as these had finished"""
    follows: int = NONE
    """the place of the computation at whose end they were submitted; then `seconds` are since that"""
    own_seconds: float = 0.0
    """of `seconds`, in which the client's own code ran"""
    actor_seconds: float = 0.0
    """of `seconds`, in which the client waited for methods of actors"""
    was_busy: bool = False
    """its own code ran as well when the tasks before had ended: it was not these that it waited for"""


def submissions(computing: Spans, times: Integers, records: Records) -> list[Submission]:
    """Return the submissions of a window in their order. `times`: when each computation was submitted."""
    error = records.clock_errors_of(computing.worker)
    order = np.argsort(times, kind="stable")
    begins = np.flatnonzero(np.diff(times[order], prepend=np.iinfo(np.int32).min * PAUSE) > PAUSE)
    earliest = (computing.times.stop - error)[order]
    ends = np.maximum.accumulate(earliest) if len(order) else earliest
    firsts = times[order[begins]]
    own_code = records.clients.own_code
    busy, with_actors = _steps(own_code), _steps(records.clients.actors)
    follows = followed(firsts, np.append(records.start, firsts[:-1]), computing.times.stop, own_code)
    found: list[Submission] = []
    before = records.start
    for place, begin in enumerate(begins.tolist()):
        stop = int(begins[place + 1]) if place + 1 < len(begins) else len(order)
        time = int(times[order[begin]])
        ended = int(ends[begin - 1]) if begin else records.start
        waits = begin > 0 and ended <= time
        follow = NONE if waits else int(follows[place])
        since = ended if waits else before if follow == NONE else int(computing.times.stop[follow])
        seconds = max(0, time - since) / 1e6
        between = Intervals(np.array([since]), np.array([max(since, time)]))
        own, of_actors = (float(some.integrals(between)[0]) / 1e6 for some in (busy, with_actors))
        was_busy = waits and bool(own_code.include(np.array([ended]))[0])
        places = order[begin:stop].tolist()
        found.append(Submission(places, seconds, waits, follow, own, of_actors, was_busy))
        before = time
    return found


def _steps(times: Intervals) -> Steps:
    """1 during separate times in order, 0 between them."""
    edges = np.stack([times.start, times.stop], axis=1).ravel()
    return Steps(edges, np.arange(max(len(edges) - 1, 0), dtype=np.float64) % 2 == 0)


def most_unfinished(submitted: Sequence[Submission], computing: Spans, times: Integers) -> int:
    """The most tasks that were submitted and had not ended, once any of these were submitted.

    `times`: when each computation was submitted.
    """
    ends, starts = np.sort(computing.times.stop), np.sort(times)
    at = np.array([int(times[one.places].max()) for one in submitted], np.int64)
    left = np.searchsorted(starts, at, side="right") - np.searchsorted(ends, at, side="right")
    return int(left.max(initial=0))


def submitted(computing: Spans, needed: Predecessors, records: Records) -> Integers:
    """When the task of each computation was submitted (microseconds), at most when it began.

    Where that isn't recorded: when the window began, or, if it needs nothing and no change of its task is
    known either, the computation. An attempt after a failed one was submitted with that: the scheduler
    repeats it, no client. It also releases tasks of shuffles and sends them once more: the first time since
    the computation before counts.
    """
    transitions, start = records.transitions, records.start
    error = records.clock_errors_of(computing.worker)
    left = transitions.start == RELEASED
    times = transitions.time[left]
    before = previous_of(computing.task, computing.times.start)
    since = np.where(before == NONE, start, computing.times.stop[before] - error)
    found = LastEnded(transitions.task[left], -times)(computing.task, -since)  # the first one since then
    was_there = (before == NONE) & np.isin(computing.task, transitions.task)  # where it didn't come later
    unknown = np.where((needed.counts == 0) & ~was_there, computing.times.start, start)
    known = np.where(found == NONE, unknown, np.append(times, 0)[found])
    known = np.minimum(known, computing.times.start)
    for place in np.flatnonzero((before != NONE) & computing.is_error[before]).tolist():
        known[place] = known[before[place]]
    return known
