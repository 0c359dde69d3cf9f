"""How long tasks that were cancelled kept their thread: Python can't end a function that runs.

Source: the numbers of tasks by state with which workers answer heartbeats. A cancelled task is *cancelled* on
its worker until its function returns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import psycopg

from observatory.store.queries.windows import findings as store
from observatory.why.findings.observed.samples import Samples, read_samples
from observatory.why.intervals import Integers, Intervals

METRIC, STATE = "observatory_worker_tasks", "cancelled"
GAP = 3_000_000
"""microseconds between two heartbeats, or from one until the next one"""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """How many cancelled tasks each worker had."""

    samples: Samples

    @classmethod
    def none(cls) -> Cancelled:
        no = np.zeros(0, np.int64)
        return cls(Samples(no, Intervals.none(), np.zeros(0)))

    def are_there(self, time: int) -> bool:
        """Whether any worker had some at a time."""
        times = self.samples.times
        return bool(((times.start <= time) & (times.stop > time) & (self.samples.value > 0)).any())

    def kept_until(self, worker: int, withdrawn: Integers) -> Integers:
        """When each of some tasks of a worker returned, which were withdrawn at these times, in order."""
        rows = np.flatnonzero(self.samples.worker == worker)
        times, values = self.samples.times.where(rows), self.samples.value[rows]
        found: list[int] = []
        for time in withdrawn.tolist():
            before = sum(one > time for one in found)
            parts = times.where(values > before).joined(1)
            place = int(parts.stop.searchsorted(time, side="right"))
            is_there = place < len(parts) and int(parts.start[place]) <= time + GAP
            found.append(int(parts.stop[place]) if is_there else time)
        return np.array(found, np.int64)


def read_cancelled(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> Cancelled:
    """Read how many cancelled tasks the workers had in [start, stop) (microseconds)."""
    samples = read_samples(connection, cluster, METRIC, (start, stop), STATE, "max", "state")
    width = (stop - start) // store.BINS
    since = np.maximum(samples.times.start, samples.times.stop - max(GAP, width))
    return Cancelled(Samples(samples.worker, Intervals(since, samples.times.stop), samples.value))
