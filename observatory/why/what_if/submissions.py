"""When the client submitted the tasks of a window, and what it waited for before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from observatory.why.critical_path.predecessors import NONE, LastEnded, Predecessors, previous_of
from observatory.why.intervals import Integers
from observatory.why.records import Records, Spans, Transitions
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


def submissions(computing: Spans, needed: Predecessors, records: Records) -> list[Submission]:
    """Return the submissions of a window in their order.

    Tasks whose submission is not recorded belong to the one before their first computation.
    """
    error = records.clock_errors_of(computing.worker)
    times = _submitted(computing, needed, records.transitions, records.start, error)
    order = np.argsort(times, kind="stable")
    begins = np.flatnonzero(np.diff(times[order], prepend=np.iinfo(np.int32).min * PAUSE) > PAUSE)
    earliest = (computing.times.stop - error)[order]
    ends = np.maximum.accumulate(earliest) if len(order) else earliest
    found: list[Submission] = []
    before = records.start
    for place, begin in enumerate(begins.tolist()):
        stop = int(begins[place + 1]) if place + 1 < len(begins) else len(order)
        time = int(times[order[begin]])
        ended = int(ends[begin - 1]) if begin else records.start
        waits = begin > 0 and ended <= time
        since = ended if waits else before
        found.append(Submission(order[begin:stop].tolist(), max(0, time - since) / 1e6, waits))
        before = time
    return found


def _submitted(
    computing: Spans, needed: Predecessors, transitions: Transitions, start: int, error: Integers
) -> Integers:
    """When the task of each computation was submitted (microseconds), at most when it began.

    An attempt after a failed one was submitted with that: the scheduler repeats it, no client.
    """
    left = transitions.start == RELEASED
    times = transitions.time[left]
    found = LastEnded(transitions.task[left], times)(computing.task, computing.times.start + error)
    unknown = np.where(needed.counts == 0, computing.times.start, start)
    submitted = np.where(found == NONE, unknown, np.append(times, 0)[found])
    submitted = np.minimum(submitted, computing.times.start)
    before = previous_of(computing.task, computing.times.start)
    for place in np.flatnonzero((before != NONE) & computing.is_error[before]).tolist():
        submitted[place] = submitted[before[place]]
    return submitted
