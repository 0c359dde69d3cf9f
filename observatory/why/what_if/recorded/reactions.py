"""What follows the end of a task: what is submitted then, and the ends of tasks that wait for others.

A client that follows its futures (`as_completed`), or a task that gives its parts to the cluster, submits
more when a task has ended: earlier, where that would have ended earlier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from observatory.why.critical_path.predecessors import NONE
from observatory.why.intervals import Flags, Integers, Intervals
from observatory.why.records import Spans

REACTION = 50_000
"""microseconds from the end of a task until what follows it at once"""
FEWEST, LEAST_SHARE, MOST_BY_CHANCE = 3, 0.75, 0.5
"""submissions that follow the end of a task; their share of all; and the share that would by chance"""
MOST_CHILDREN = 1_000
"""of those that a task waits for: the last ones"""


def followed(times: Integers, before: Integers, ends: Integers, busy: Intervals) -> Integers:
    """Return the place of the task in `ends` that each submission follows; NONE: none that is known.

    `times`: of submissions; `before`: of the one before each; `busy`: when the client didn't wait for tasks.
    """
    order = np.argsort(ends, kind="stable")
    if not len(times) or not len(order):
        return np.full(len(times), NONE, np.int64)
    place = np.searchsorted(ends[order], times, side="right") - 1
    found = order[np.maximum(place, 0)]
    since = times - ends[found]
    is_reaction = (place >= 0) & (ends[found] > before) & (since <= REACTION) & ~busy.include(ends[found])
    if is_reaction.sum() < max(FEWEST, LEAST_SHARE * len(times)) or _by_chance(times, ends) > MOST_BY_CHANCE:
        return np.full(len(times), NONE, np.int64)
    return np.where(is_reaction, found, NONE)


def _by_chance(times: Integers, ends: Integers) -> float:
    """The share of the time between the first submission and the last that is as soon after any end."""
    first, last = int(times.min()), int(times.max())
    soon = Intervals(ends, ends + REACTION).clipped(first, last).union()
    return float(soon.lengths.sum()) / max(1, last - first)


@dataclass(frozen=True, slots=True)
class Rest:
    """How a task that has seceded ends: soon after the last of others."""

    children: tuple[int, ...]
    """computations that were submitted and ended while it ran outside of the threads"""
    seconds: float
    """from the end of the last of them"""


def rests(computing: Spans, submitted: Integers, are_waiting: Flags | None = None) -> dict[int, Rest]:
    """Return the rests of the computations that waited for others after they had seceded, by place.

    `are_waiting`: those that are known to; others end soon after the last one.
    """
    times, outside = computing.times, computing.outside
    order = np.argsort(times.stop, kind="stable")
    stops = times.stop[order]
    found = {}
    for place in np.flatnonzero(outside.lengths > REACTION).tolist():
        last = int(np.searchsorted(stops, times.stop[place], side="right"))
        some = order[max(0, last - MOST_CHILDREN - 1) : last]
        children = some[(submitted[some] >= outside.start[place]) & (some != place)]
        if not len(children):
            continue
        seconds = int(times.stop[place] - times.stop[children[-1]])
        if seconds <= REACTION or (are_waiting is not None and are_waiting[place]):
            found[place] = Rest(tuple(children.tolist()), seconds / 1e6)
    return found
