"""What clients did while their runs were open, which tells why a cluster had nothing to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from observatory.why.intervals import Integers, Intervals
from observatory.why.thread_times.kinds import OF_CLIENTS, ThreadKind
from observatory.wire.runs import ACTIVITIES, CODE, GATHERING, OPTIMIZING, SENDING

KINDS = {
    ThreadKind.GATHERING: GATHERING,
    ThreadKind.SENDING: SENDING,
    ThreadKind.OPTIMIZING: OPTIMIZING,
    ThreadKind.CLIENT_CODE: CODE,
}
Part = tuple[ThreadKind, int, int]
"""kind, start, stop (microseconds)"""


class Clients:
    """What clients did, by kind. At each time the first of OF_CLIENTS counts."""

    def __init__(self, times: Mapping[ThreadKind, Intervals]) -> None:
        self.times = {kind: times.get(kind, Intervals.none()).union() for kind in OF_CLIENTS}

    @classmethod
    def of(cls, activity: Integers, times: Intervals, received: Integers) -> Clients:
        """`activity`: positions in ACTIVITIES. `received`: when the scheduler had a graph; in order."""
        found = {kind: times.where(activity == ACTIVITIES.index(name)) for kind, name in KINDS.items()}
        found[ThreadKind.SENDING] = _until_received(found[ThreadKind.SENDING], received)
        return cls(found)

    def parts(self, start: int, stop: int) -> Iterator[Part]:
        """[start, stop) divided by what clients did, the latest first; NOTHING: that isn't known."""
        edges, kinds = self._division
        first = int(np.searchsorted(edges, start, side="right"))
        last = int(np.searchsorted(edges, stop, side="left"))
        for place in range(last, first - 1, -1):
            begin = max(start, int(edges[place - 1])) if place > 0 else start
            yield kinds[place], begin, stop
            stop = begin

    @cached_property
    def _division(self) -> tuple[Integers, list[ThreadKind]]:
        """Times at which something else begins, and the kind before each of them and after the last."""
        times = list(self.times.values())
        edges = np.unique(np.concatenate([part for some in times for part in (some.start, some.stop)]))
        found = np.full(max(len(edges) - 1, 0), len(OF_CLIENTS))
        for place in range(len(OF_CLIENTS) - 1, -1, -1):
            found[times[place].counts(edges) > 0] = place
        kinds = [(*OF_CLIENTS, ThreadKind.NOTHING)[place] for place in found]
        return edges, [ThreadKind.NOTHING, *kinds, ThreadKind.NOTHING] if len(edges) else [ThreadKind.NOTHING]


def _until_received(sending: Intervals, received: Integers) -> Intervals:
    """Until the scheduler had the graph; at most until the next one was sent."""
    if not len(sending) or not len(received):
        return sending
    order = np.argsort(sending.start, kind="stable")
    start, stop = sending.start[order], sending.stop[order]
    place = np.searchsorted(received, start, side="right")
    arrival = np.where(place < len(received), received[np.minimum(place, len(received) - 1)], stop)
    following = np.concatenate([start[1:], [np.iinfo(np.int64).max]])
    return Intervals(start, np.maximum(stop, np.minimum(arrival, following)))
