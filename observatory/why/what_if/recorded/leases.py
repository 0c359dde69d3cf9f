"""Locks and semaphores of Dask that tasks of a window waited for: simulations let them wait as well.

Source: how many tasks wait for a lease, and how many there are, as the scheduler's metrics tell, and in which
prefixes the profile saw tasks that acquire one. While any waits, all leases are taken, and the end of a task
hands one on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import psycopg

from observatory.store.queries.windows import findings as store
from observatory.why.findings.observed.lease_waits import lease_waits
from observatory.why.findings.observed.samples import LabelledSamples, read_labelled
from observatory.why.intervals import Integers, Numbers, Steps
from observatory.why.records import Records, Spans

PENDING, MAXIMUM_LEASES = "dask_semaphore_pending_leases", "dask_semaphore_max_leases"
LABEL = "name"
FILES = ("distributed/semaphore.py", "distributed/lock.py", "distributed/multi_lock.py")
"""of distributed, in which a task acquires a lease"""
MOST_PREFIXES, MOST_STACKS = 50, 100
"""whose stacks are looked at: those that took most time; of each prefix"""
LONGEST_STEP = 5.0
"""seconds for which a sample counts"""


@dataclass(frozen=True, slots=True)
class Leases:
    """Of one lock or semaphore. By computation of the records, in seconds."""

    count: int
    """that there are at once"""
    waited: Numbers
    held: Numbers
    """0: it needs none"""


def seconds_of_samples(times: Numbers) -> Numbers:
    """For how many seconds each sample counts: until the next one."""
    return np.minimum(np.diff(times, append=times[-1:]), LONGEST_STEP)


def steps_of_samples(times: Numbers, values: Numbers) -> Steps:
    """The values of samples as a function of time (microseconds)."""
    edges = (times * 1e6).astype(np.int64)
    apart = np.maximum(np.diff(edges), 1)
    return Steps(edges, values[:-1] * seconds_of_samples(times)[:-1] * 1e6 / apart)


def acquiring_computations(
    computing: Spans, durations: Numbers, stacks_of: Callable[[int], Sequence[tuple[str, int]]]
) -> Integers:
    """The computations of prefixes that the profile saw to acquire a lease; all, where it has no task."""
    ids, place = np.unique(computing.prefix, return_inverse=True)
    longest = ids[np.argsort(-np.bincount(place, durations, len(ids)), kind="stable")][:MOST_PREFIXES]
    stacks = {id: stacks_of(id) for id in longest.tolist()}
    acquire = [id for id in stacks if any(file in frames for frames, _ in stacks[id] for file in FILES)]
    return np.flatnonzero(np.isin(computing.prefix, acquire) | (not any(stacks.values())))


def read_leases(connection: psycopg.Connection, cluster: int, records: Records) -> list[Leases]:
    """Read those that tasks waited for."""
    window = records.start, records.stop
    pending = {
        name: samples
        for name, samples in read_labelled(connection, cluster, PENDING, LABEL, window).items()
        if samples.value.any()
    }
    if not pending:
        return []
    computing = records.spans.computing
    rows = acquiring_computations(
        computing,
        computing.times.lengths / 1e6,
        lambda prefix: store.task_stacks(connection, cluster, [prefix], *window, MOST_STACKS),
    )
    most = read_labelled(connection, cluster, MAXIMUM_LEASES, LABEL, window)
    return [leases_of(computing, rows, one, most.get(name)) for name, one in pending.items()]


def leases_of(
    computing: Spans, rows: Integers, pending: LabelledSamples, most: LabelledSamples | None
) -> Leases:
    """`rows`: the computations that acquire one."""
    waiting = steps_of_samples(pending.time, pending.value)
    count = max(1, int(most.value.max())) if most is not None else 1
    waited = lease_waits(computing, rows, waiting)
    each = _held_each(np.sort(computing.times.stop[rows]), waiting, count)
    held = np.zeros(len(computing))
    held[rows] = np.minimum(each, np.maximum(computing.times.lengths[rows] / 1e6 - waited[rows], 0.0))
    return Leases(count, waited, held)


def _held_each(ends: Integers, waiting: Steps, count: int) -> float:
    """Seconds for which a task holds its lease: from an end, at which another one waited for the lease, until
    as many further ends as there are leases."""
    if len(ends) <= count or len(waiting.edges) < 2:
        return 0.0
    first, last = ends[:-count], ends[count:]
    is_handed_on = waiting.at(first - 1) > 0
    return float(np.median((last - first)[is_handed_on])) / 1e6 if is_handed_on.any() else 0.0
