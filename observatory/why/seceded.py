"""Which tasks seceded, and when: from then on they took no thread of their worker's pool.

Agents record the rest of such a computation as a span of its own, which follows it. Stock endpoints tell of
computations alone. Where more of them overlap than a worker has threads, those that began first had seceded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from observatory.why.intervals import Integers, Intervals, distinct_times
from observatory.why.records import Spans, Worker
from observatory.wire.records import Action

SHORTEST = 100_000
"""microseconds for which two tasks of one thread may seem to overlap, as clocks differ"""


def with_rest(spans: Spans) -> Spans:
    """Return them with each computation and its rest as one, which ends with the rest."""
    is_rest = spans.action == Action.LONG_RUNNING
    if not is_rest.any():
        return spans
    rest = np.flatnonzero(is_rest)
    computing = np.flatnonzero(spans.action == Action.COMPUTE)
    start, stop = spans.times.start.copy(), spans.times.stop.copy()
    begun = dict(zip(_places(spans, rest, start), rest.tolist(), strict=True))
    follows = [(at, begun.pop(one)) for at, one in enumerate(_places(spans, computing, stop)) if one in begun]
    for at, place in follows:
        stop[computing[at]] = stop[place]
    # the computation of the others was before the window
    alone = np.array(sorted(begun.values()), np.int64)
    action, seceded = spans.action.copy(), spans.seceded.copy()
    action[alone], seceded[alone] = int(Action.COMPUTE), start[alone]
    is_left = ~is_rest
    is_left[alone] = True
    found = replace(spans, action=action, times=Intervals(start, stop), seceded=seceded)
    return found.where(is_left)


def _places(spans: Spans, rows: Integers, times: Integers) -> Iterator[tuple[int, int, int]]:
    """The lane, the task and one of `times` of some rows."""
    return zip(spans.lane[rows].tolist(), spans.task[rows].tolist(), times[rows].tolist(), strict=True)


def inferred(spans: Spans, workers: Sequence[Worker]) -> Spans:
    """Return them with what seceded, of workers whose threads computed more tasks at once than there are."""
    threads = {worker.id: worker.threads for worker in workers if worker.threads}
    computing = np.flatnonzero(spans.action == Action.COMPUTE)
    order = computing[np.lexsort((spans.times.start[computing], spans.worker[computing]))]
    edges = np.flatnonzero(np.diff(spans.worker[order], prepend=-1, append=-1))
    seceded = spans.seceded.copy()
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        rows = order[first:last]
        count = threads.get(int(spans.worker[rows[0]]), 0)
        if count and _most_at_once(spans.in_pool.where(rows)) > count:
            _secede(spans.times.start, seceded, rows.tolist(), count)
    return replace(spans, seceded=seceded)


def _most_at_once(times: Intervals) -> int:
    """How many of them overlap by more than clocks explain."""
    longer = Intervals(times.start, np.maximum(times.start, times.stop - SHORTEST))
    edges = distinct_times(longer.start, longer.stop)
    return int(longer.counts(edges).max()) if len(edges) > 1 else 0


def _secede(start: Integers, seceded: Integers, rows: Sequence[int], threads: int) -> None:
    """`rows`: of one worker, in the order in which they began."""
    running: list[int] = []
    for row in rows:
        began = int(start[row])
        running = [one for one in running if seceded[one] - SHORTEST > began]
        if len(running) >= threads:
            seceded[running.pop(0)] = began
        running.append(row)
