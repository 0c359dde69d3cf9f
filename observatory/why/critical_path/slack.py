"""How much longer each computation could have taken before anything else would have begun later.

The slack of the critical path method, on the schedule as it was: tasks stay on their threads and in their
order, and the time from the last thing that a task needed until it began stays as it was.
"""

from __future__ import annotations

import numpy as np

from observatory.why.critical_path.predecessors import NONE, Predecessors
from observatory.why.intervals import Integers
from observatory.why.records import Spans

EDGES_AT_ONCE = 100_000
"""that are Python's numbers, which take ten times the memory of numpy's"""


def slacks(
    computing: Spans, needed: Predecessors, previous: Integers, on_path: Integers, end: int
) -> Integers:
    """Return the slack of each computation in microseconds.

    `on_path`: the places of those that have none. `end`: when the last one ended.
    """
    start, stop = computing.times.start, computing.times.stop
    slack: Integers = np.maximum(end - stop, 0)
    slack[on_path] = 0
    source, target = _edges(needed, previous)
    arrival = np.full(len(computing), np.iinfo(np.int64).min)
    np.maximum.at(arrival, source, np.minimum(stop[target], start[source]))
    waited = np.maximum(arrival[source] - stop[target], 0)
    is_shorter = waited < slack[target]  # the others leave the slack as it is, whatever follows
    source, target, waited = source[is_shorter], target[is_shorter], waited[is_shorter]
    order = np.argsort(-start[source], kind="stable")
    found = slack.tolist()
    # what begins later is known first
    for first in range(0, len(order), EDGES_AT_ONCE):
        part = order[first : first + EDGES_AT_ONCE]
        for later, earlier, wait in zip(
            source[part].tolist(), target[part].tolist(), waited[part].tolist(), strict=True
        ):
            most = found[later] + wait
            if most < found[earlier]:
                found[earlier] = most
    return np.array(found, np.int64)


def _edges(needed: Predecessors, previous: Integers) -> tuple[Integers, Integers]:
    has_previous = np.flatnonzero(previous != NONE)
    return (
        np.concatenate([needed.needing, has_previous]),
        np.concatenate([needed.places, previous[has_previous]]),
    )
