"""What clients did while their runs were open, which tells why a cluster had nothing to do."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from observatory.why.intervals import Integers, Intervals, joined
from observatory.why.thread_times.kinds import OF_CLIENTS, ThreadKind
from observatory.wire.client_code.runs import ACTIVITIES, ACTOR, CODE, GATHERING, OPTIMIZING, SENDING, WAITING

KINDS = {
    ThreadKind.GATHERING: GATHERING,
    ThreadKind.SENDING: SENDING,
    ThreadKind.OPTIMIZING: OPTIMIZING,
    ThreadKind.CLIENT_CODE: CODE,
}


class Clients:
    """What clients did, by kind. At each time the first of OF_CLIENTS counts."""

    def __init__(
        self,
        times: Mapping[ThreadKind, Intervals],
        waiting: Intervals | None = None,
        knows_waiting: bool = False,
        actors: Intervals | None = None,
    ) -> None:
        """`knows_waiting`: they are known to have waited at other times, if not then."""
        self.times = {kind: times.get(kind, Intervals.none()).union() for kind in OF_CLIENTS}
        self.actors = (actors or Intervals.none()).union()
        """while they waited for what methods of actors return"""
        self.waiting = joined([waiting or Intervals.none(), self.actors]).union()
        """while they were in calls of Dask that return when something has happened"""
        self._knows_waiting = knows_waiting or len(self.waiting) > 0

    @property
    def runs(self) -> Intervals:
        """When any had a run open."""
        return joined([*self.times.values(), self.waiting]).union()

    @property
    def own_code(self) -> Intervals:
        """When they did nothing else than their own code; none where it isn't known when they waited."""
        if not self._knows_waiting:
            return Intervals.none()
        found = self.times[ThreadKind.CLIENT_CODE].without(self.waiting)
        for kind in (ThreadKind.GATHERING, ThreadKind.SENDING, ThreadKind.OPTIMIZING):
            found = found.without(self.times[kind])
        return found

    @classmethod
    def of(
        cls, activity: Integers, times: Intervals, received: Integers, knows_waiting: bool = False
    ) -> Clients:
        """`activity`: positions in ACTIVITIES. `received`: when the scheduler had a graph; in order."""
        found = {kind: times.where(activity == ACTIVITIES.index(name)) for kind, name in KINDS.items()}
        found[ThreadKind.SENDING] = _until_received(found[ThreadKind.SENDING], received)
        waiting, actors = (times.where(activity == ACTIVITIES.index(name)) for name in (WAITING, ACTOR))
        return cls(found, waiting, knows_waiting, actors)


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
