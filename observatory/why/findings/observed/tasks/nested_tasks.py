"""Tasks that keep their thread while they wait for results of tasks that they gave to the cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from observatory.why.intervals import Intervals
from observatory.why.records import Spans, Transitions
from observatory.wire.records import TASK_STATES

WAITS_FOR_RESULTS = re.compile(
    r"^(result|exception|gather|get|compute|wait|__next__)\t[^\n]*distributed/client\.py\t", re.MULTILINE
)
"""a frame of a stack"""
RELEASED = TASK_STATES.index("released")
ADVICE = (
    "They wait for results of tasks that they submitted, and keep the threads which those need. Submit them "
    "in `with worker_client() as client:`, or call `secede()` before the wait and `rejoin()` after it: then "
    "their thread is free meanwhile."
)
Stacks = Sequence[tuple[str, int]]
"""frames, and how often they were seen"""


def wait_for_results(stacks: Stacks) -> bool:
    """Whether tasks were seen mostly in the client of their worker, as it waited for results."""
    return waits_in(WAITS_FOR_RESULTS, stacks)


def waits_in(frame: re.Pattern[str], stacks: Stacks) -> bool:
    """Whether tasks were seen mostly in such a frame."""
    waiting = sum(count for frames, count in stacks if frame.search(frames))
    return waiting > sum(count for _, count in stacks) / 2


def nested_waits(
    computing: Spans, transitions: Transitions, stacks_of: Callable[[Sequence[int]], Stacks]
) -> Intervals:
    """Return when each computation waited so: from the first task that was submitted while it had its
    thread, until it had its thread no more. An empty interval at its end: it did not wait."""
    submitted = np.sort(transitions.time[transitions.start == RELEASED])
    place = np.searchsorted(submitted, computing.times.start, side="right")
    first = np.append(submitted, np.iinfo(np.int64).max)[place]
    is_nested = first < computing.times.stop
    prefixes = np.unique(computing.prefix[is_nested]).tolist()
    waiting = [id for id in prefixes if wait_for_results(stacks_of([id]))]
    is_nested &= np.isin(computing.prefix, waiting)
    stop = computing.times.stop
    return Intervals(np.where(is_nested, first, stop), stop)
