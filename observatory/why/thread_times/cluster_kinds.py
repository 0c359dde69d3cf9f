"""What a thread waits for once its own worker has no work for it: at an instant the same on all workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from observatory.why.intervals import Integers, Intervals, Numbers, Steps, distinct_times
from observatory.why.records import Records
from observatory.why.thread_times.assignments import Stays, at_scheduler
from observatory.why.thread_times.kinds import ThreadKind


class ClusterKinds:
    """The kind of these threads at each instant of [start, stop), in microseconds.

    It is kept once for the cluster. Kept by worker, it would take memory for each change of the window times
    each worker: 16 GB with thousands of workers.
    """

    def __init__(self, start: int, stop: int, times: Sequence[tuple[ThreadKind, Intervals]]) -> None:
        """A kind goes before those after it in `times`."""
        separate = [(kind, some.clipped(start, stop).union()) for kind, some in times]
        self.kinds = (*(kind for kind, _ in separate), ThreadKind.NOTHING)
        self._edges = distinct_times(
            np.array([start, stop], np.int64),
            *(edges for _, some in separate for edges in (some.start, some.stop)),
        )
        self._places = np.full(len(self._edges) - 1, len(self.kinds) - 1, np.int8)
        for place, (_, some) in reversed(list(enumerate(separate))):
            self._places[some.covers(self._edges)] = place
        self._integrals = {
            kind: Steps(self._edges, (self._places == place).astype(np.float64)).integral
            for place, kind in enumerate(self.kinds)
        }

    @classmethod
    def of(cls, records: Records, known: Stays, cluster: Intervals) -> ClusterKinds:
        """Those of some records, while any of their workers lived. `cluster`: when it had a task."""
        return cls(
            min([records.start, *(worker.begun for worker in records.workers)]),
            max([records.stop, *(worker.stop for worker in records.workers)]),
            [
                (ThreadKind.SCHEDULER, at_scheduler(records, known, cluster)),
                (ThreadKind.OTHERS, cluster),
                *records.clients.times.items(),
            ],
        )

    def kinds_in(self, start: int, stop: int) -> Iterator[tuple[ThreadKind, int, int]]:
        """[start, stop) divided by kind: kind, start, stop; the latest first."""
        first = int(np.searchsorted(self._edges, start, side="right")) - 1
        last = int(np.searchsorted(self._edges, stop, side="left")) - 1
        for place in range(last, first - 1, -1):
            at = min(max(place, 0), len(self._places) - 1)
            begin = max(start, int(self._edges[place])) if place > first else start
            yield self.kinds[self._places[at]], begin, stop
            stop = begin

    def seconds(self, threads: Steps) -> dict[ThreadKind, float]:
        """How long some threads waited, by kind."""
        return {
            kind: float((threads.values * np.diff(self._until(threads.edges, kind))).sum()) / 1e6
            for kind in self.kinds
        }

    def parts(self, threads: Steps) -> dict[ThreadKind, Steps]:
        """Some threads, divided by kind; all with the same edges."""
        if len(threads.edges) < 2:
            return dict.fromkeys(self.kinds, threads)
        edges, values, found = self._divided(threads)
        return {kind: Steps(edges, np.where(found == at, values, 0.0)) for at, kind in enumerate(self.kinds)}

    def part(self, threads: Steps, kind: ThreadKind) -> Steps:
        """Those of some threads that are of a kind."""
        if len(threads.edges) < 2:
            return threads
        edges, values, found = self._divided(threads)
        return Steps(edges, np.where(found == self.kinds.index(kind), values, 0.0))

    def _divided(self, threads: Steps) -> tuple[Integers, Numbers, npt.NDArray[np.int8]]:
        """Edges, and between them the number of threads, and the place of their kind."""
        first, last = threads.edges[[0, -1]]
        inside = self._edges[(self._edges > first) & (self._edges < last)]
        edges = distinct_times(threads.edges, inside)
        place = np.searchsorted(self._edges, edges[:-1], side="right") - 1
        return edges, threads.at(edges[:-1]), self._places[np.clip(place, 0, len(self._places) - 1)]

    def _until(self, times: Integers, kind: ThreadKind) -> Numbers:
        """Microseconds of the kind until each of some times."""
        return np.asarray(np.interp(times, self._edges, self._integrals[kind]))
