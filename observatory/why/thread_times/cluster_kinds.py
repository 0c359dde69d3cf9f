"""What threads wait for when their worker has nothing for them: the same for all workers at an instant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from observatory.why.intervals import Flags, Integers, Intervals, Numbers, Steps
from observatory.why.thread_times.kinds import ThreadKind


class ClusterKinds:
    """The kind of such threads at each instant of [start, stop), in microseconds.

    It is kept once: by worker it would take a window's changes times its workers, which is 16 GB for
    thousands of workers.
    """

    def __init__(self, start: int, stop: int, times: Sequence[tuple[ThreadKind, Intervals]]) -> None:
        """A kind goes before those after it in `times`."""
        separate = [(kind, some.clipped(start, stop).union()) for kind, some in times]
        self.kinds = (*(kind for kind, _ in separate), ThreadKind.NOTHING)
        self._edges = np.unique(
            np.concatenate(
                [[start, stop], *(edges for _, some in separate for edges in (some.start, some.stop))]
            )
        ).astype(np.int64)
        self._places = np.full(len(self._edges) - 1, len(self.kinds) - 1, np.int8)
        for place, (_, some) in reversed(list(enumerate(separate))):
            self._places[some.covers(self._edges)] = place
        self._integrals = {
            kind: Steps(self._edges, (self._places == place).astype(np.float64)).integral
            for place, kind in enumerate(self.kinds)
        }

    def seconds(self, threads: Steps) -> dict[ThreadKind, float]:
        """How long some threads waited, by kind."""
        return {
            kind: float((threads.values * np.diff(self._until(threads.edges, kind))).sum()) / 1e6
            for kind in self.kinds
        }

    def part(self, threads: Steps, kind: ThreadKind) -> Steps:
        """Those of some threads that waited for one kind."""
        if len(threads.edges) < 2:
            return threads
        first, last = threads.edges[[0, -1]]
        inside = self._edges[(self._edges > first) & (self._edges < last)]
        edges = np.union1d(threads.edges, inside)
        return Steps(edges, np.where(self._is_at(edges[:-1], kind), threads.at(edges[:-1]), 0.0))

    def _is_at(self, times: Integers, kind: ThreadKind) -> Flags:
        place = np.searchsorted(self._edges, times, side="right") - 1
        return np.asarray(self._places[np.clip(place, 0, len(self._places) - 1)] == self.kinds.index(kind))

    def _until(self, times: Integers, kind: ThreadKind) -> Numbers:
        """Microseconds of the kind until each of some times."""
        return np.asarray(np.interp(times, self._edges, self._integrals[kind]))
