"""Whether what is said of a window agrees: its threads and its critical path."""

from __future__ import annotations

from collections import Counter

import numpy as np

from observatory.why.critical_path.path import CriticalPath
from observatory.why.intervals import Intervals
from observatory.why.records import Graph, Records
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.thread_times.thread_time import Accountant

MOST = 0.02
"""of the window"""


def inconsistencies(records: Records, graph: Graph) -> dict[ThreadKind, tuple[float, float]]:
    """The kinds of which the path has more than the time in which any thread was in it: both in seconds.

    While there were threads.
    """
    taken = Accountant(records).account().taken()
    lives = Intervals.of(
        np.array([one.begun for one in records.workers]), np.array([one.stop for one in records.workers])
    ).union()
    on_path: Counter[ThreadKind] = Counter()
    for piece in CriticalPath(records, graph).pieces():
        times = lives.clipped(piece.start, piece.stop)
        on_path[piece.kind] += int((times.stop - times.start).sum())
    found = {}
    for kind, length in on_path.items():
        steps = taken[kind]
        threads = int(np.diff(steps.edges)[steps.values > 1e-9].sum()) if len(steps.edges) else 0
        if length > threads + MOST * (records.stop - records.start):
            found[kind] = (length / 1e6, threads / 1e6)
    return found
