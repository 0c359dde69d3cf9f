"""Tasks that keep a thread and use no CPU: they wait for each other, or for something outside of Dask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from observatory.why.findings.observed.samples import Samples
from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.intervals import (
    Flags,
    Integers,
    Intervals,
    Numbers,
    Steps,
    added,
    distinct_times,
    joined,
)
from observatory.wire.tasks.waits import FILE_LOCK, LOCK, TASK_WAITS

MOST_OF_THREAD, MOST_OF_WORKER = 0.25, 0.6
"""cores that a thread with a task, and all threads of a worker, used or wanted, up to which its tasks wait.

Threads that want Python's lock don't wait for something outside: then one of them uses a core.
"""
LEAST_ALL_WAITING, MOST_OF_TURNS = 0.25, 0.75
"""Where threads used so little for this share of the time, they wait in turns: samples in which they used up
to so much of a core tell how long they waited as well."""
MOST_IN_PART, MOST_CONTENTION = 0.6, 0.3
"""Where threads used up to so much of a core in most samples, and contended for Python's lock for this
share of the time at most, their tasks wait for a part of their time, whatever all threads used."""
LEAST_BUSY = 0.25
"""threads with a task, on average over a sample and over the one before, from which it tells what tasks use.

A sample is a mean of some time before it: of a thread that has just begun it says nothing.
"""
MOST_OF_USUAL = 4.0
"""times the usual time between two samples: of one after a silence it isn't known what it is of"""
LOCKS = (LOCK, FILE_LOCK)
LISTED = 10


@dataclass(frozen=True, slots=True)
class _OfWorker:
    """All steps have the same edges."""

    rows: Integers
    """of computations"""
    busy: Numbers
    """threads that had a task"""
    waiting: Steps
    """those whose tasks used no CPU"""
    waits: dict[str, Steps]
    """those that were seen to wait, by what they waited in"""
    cores: Steps
    """that each thread with a task used or wanted"""
    used: float
    """mean share of a core, by the time of threads that waited"""


class WaitingTasks:
    """In a window, all workers together. `line`: tasks that could run and had no thread.

    `cpu`: that the threads of tasks of each worker used or wanted, in percent of a core. `contention`: share
    of the time in which they contended for Python's lock, where that is known. `waits`: the number of threads
    that were seen to wait, by what they waited in, with bins of `cpu`. `nested`: when each computation waited
    for tasks that it had submitted, until its end, which is told of apart.
    """

    def __init__(
        self,
        computations: Computations,
        cpu: Samples,
        contention: Samples,
        waits: Mapping[str, Samples],
        line: Intervals,
        nested: Intervals,
    ) -> None:
        before = Intervals(computations.spans.times.start, nested.start)
        computations = Computations(replace(computations.spans, times=before))
        self._computations, self._cpu, self._line = computations, cpu, line
        self._workers: dict[int, _OfWorker] = {}
        for worker in np.unique(cpu.worker[cpu.worker > 0]).tolist():
            rows = np.flatnonzero(computations.spans.worker == worker)
            if len(rows):
                contended = contention.value[contention.worker == worker]
                self._workers[worker] = _of_worker(
                    computations, worker, rows, cpu, contended, waits, nested.where(rows)
                )

    def are_sampled(self, rows: Integers) -> bool:
        """Whether samples tell what each of some computations used: none is of much more time than usual."""
        spans, cpu = self._computations.spans, self._cpu
        for row in rows.tolist():
            times = cpu.times.where(cpu.worker == spans.worker[row])
            start, stop = int(spans.times.start[row]), int(spans.times.stop[row])
            sampled = times.clipped(start, stop).lengths
            half = (stop - start) / 2
            if sampled.sum() < half:
                return False
            if sampled.max() > max(half, MOST_OF_USUAL * float(np.median(times.lengths))):
                return False
        return True

    @cached_property
    def waiting(self) -> Steps:
        """The number of threads whose tasks used no CPU."""
        return added([one.waiting for one in self._workers.values()])

    @cached_property
    def needed(self) -> float:
        """Seconds of threads whose tasks used no CPU, each while another task was in line."""
        if len(self.waiting.edges) < 2:
            return 0.0
        edges = distinct_times(self.waiting.edges, self._line.start, self._line.stop)
        return Steps(edges, np.minimum(self.waiting.at(edges[:-1]), self._line.counts(edges))).seconds

    @property
    def used(self) -> float:
        """The share of a core that each of these tasks used or wanted, on average."""
        weights = [one.waiting.seconds for one in self._workers.values()]
        used = [one.used for one in self._workers.values()]
        return float(np.average(used, weights=weights)) if sum(weights) else 0.0

    @property
    def most_at_once(self) -> int:
        """Tasks that computed or were in line."""
        times = joined([self._computations.spans.times, self._line])
        edges = distinct_times(times.start, times.stop)
        return int(times.counts(edges).max()) if len(edges) > 1 else 0

    @property
    def seconds_by_wait(self) -> dict[str, float]:
        """Seconds of threads, by what they were seen to wait in; most first."""
        found = {wait: sum(one.waits[wait].seconds for one in self._workers.values()) for wait in TASK_WAITS}
        return {wait: found[wait] for wait in sorted(found, key=lambda wait: -found[wait]) if found[wait] > 0}

    def locked(self, wait: str) -> dict[int, Steps]:
        """How many threads of each worker waited in one of LOCKS for a thread that held it."""
        found = {id: one.waits[wait] for id, one in self._workers.items()}
        return {id: steps for id, steps in found.items() if steps.seconds > 0}

    def beside(self, worker: int, steps: Steps) -> float:
        """How many threads of a worker had a task and weren't among `steps`, on average while any was."""
        one = self._workers[worker]
        lengths = np.diff(steps.edges)[steps.values > 0]
        return float(np.average((one.busy - steps.values)[steps.values > 0], weights=lengths))

    def by_prefix(self, steps: Mapping[int, Steps] | None = None) -> dict[int, float]:
        """Seconds that tasks waited, or were among `steps` of their worker, by prefix; most first."""
        prefixes, place = np.unique(self._computations.spans.prefix, return_inverse=True)
        sums = np.bincount(place, self.of_rows(steps), len(prefixes)).tolist()
        found = dict(zip(prefixes.tolist(), sums, strict=True))
        return {id: found[id] for id in sorted(found, key=lambda id: -found[id]) if found[id] > 0}

    def of_rows(self, steps: Mapping[int, Steps] | None = None) -> Numbers:
        """Seconds that each computation waited, or was among `steps` of its worker."""
        found = np.zeros(len(self._computations.spans))
        for id, one in self._workers.items():
            some = one.waiting if steps is None else steps.get(id)
            if some is not None:
                share = Steps(some.edges, some.values / np.maximum(one.busy, 1))
                found[one.rows] = share.integrals(self._computations.spans.times.where(one.rows)) / 1e6
        return found

    def computed(self, rows: Integers) -> float:
        """Seconds of CPU that some computations used or wanted."""
        found = np.zeros(len(self._computations.spans))
        for one in self._workers.values():
            found[one.rows] = one.cores.integrals(self._computations.spans.times.where(one.rows)) / 1e6
        return float(found[rows].sum())

    def longest(self, steps: Mapping[int, Steps] | None = None) -> Integers:
        """The computations that waited longest."""
        return np.argsort(-self.of_rows(steps), kind="stable")[:LISTED]


def _of_worker(
    computations: Computations,
    worker: int,
    rows: Integers,
    cpu: Samples,
    contended: Numbers,
    waits: Mapping[str, Samples],
    nested: Intervals,
) -> _OfWorker:
    times = computations.spans.times.where(rows)
    own = cpu.worker == worker
    stops = cpu.times.stop[own]
    edges = distinct_times(times.start, times.stop, nested.stop, stops)
    busy = times.counts(edges).astype(np.float64)
    # a sample is of the time before it; the last one is of the rest as well
    place = np.minimum(np.searchsorted(stops, edges[:-1], side="right"), len(stops) - 1)
    cores, had_tasks = cpu.value[own] / 100, _least_busy(Steps(edges, busy), cpu.times.where(own))
    of_thread = cores / np.maximum(had_tasks, LEAST_BUSY)
    lengths = cpu.times.where(own).lengths
    tells_waiting = _tell_waiting(had_tasks >= LEAST_BUSY, cores, of_thread, lengths, contended)
    is_low = (busy > 0) & tells_waiting[place]
    # what failed, or repeats what had finished, costs its time whatever it waits for
    is_wanted = (computations.finished & ~computations.repeated)[rows]
    wanted = times.where(is_wanted).counts(edges) / np.maximum(busy, 1)
    waiting = Steps(edges, np.where(is_low, busy * (1 - of_thread[place]) * wanted, 0.0))
    lengths = np.where(is_low, np.diff(edges), 0)
    weight = float((busy * lengths).sum())
    at_place = {wait: _at(waits[wait], worker, stops)[place] for wait in TASK_WAITS}
    # a task waits for a result in a condition
    at_place[LOCK] = np.maximum(at_place[LOCK] - nested.counts(edges), 0.0)
    seen = {wait: Steps(edges, np.minimum(at_place[wait], busy)) for wait in TASK_WAITS}
    used = float((of_thread[place] * busy * lengths).sum()) / weight if weight else 0.0
    cores_of_thread = Steps(edges, np.minimum(of_thread[place], 1.0))
    return _OfWorker(rows, busy, waiting, seen, cores_of_thread, used)


def _tell_waiting(
    has_tasks: Flags, cores: Numbers, of_thread: Numbers, lengths: Integers, contended: Numbers
) -> Flags:
    """Whether each sample of a worker is of tasks that waited. `lengths`: of the samples."""
    length = lengths[has_tasks].sum()
    is_in_part = has_tasks & (of_thread <= MOST_IN_PART)
    if len(contended) and np.median(contended) <= MOST_CONTENTION and lengths[is_in_part].sum() > length / 2:
        return has_tasks & (of_thread <= MOST_OF_TURNS)
    tells = has_tasks & (cores <= MOST_OF_WORKER)
    is_waiting = tells & (of_thread <= MOST_OF_THREAD)
    if lengths[is_waiting].sum() >= LEAST_ALL_WAITING * length:
        return tells & (of_thread <= MOST_OF_TURNS)
    return is_waiting


def _least_busy(busy: Steps, times: Intervals) -> Numbers:
    """Mean number of threads with a task over each sample, or over the one before if that is less."""
    means = busy.integrals(times) / np.maximum(times.lengths, 1)
    return np.asarray(np.minimum(means, np.concatenate([means[:1], means[:-1]])))


def _at(samples: Samples, worker: int, stops: Integers) -> Numbers:
    """The values of a worker at some times; 0 where it has none."""
    own = samples.worker == worker
    found = np.zeros(len(stops))
    known = np.isin(stops, samples.times.stop[own])
    found[known] = samples.value[own][np.isin(samples.times.stop[own], stops)]
    return found
