"""GPUs that did nothing while tasks ran on their workers: the tasks prepared data on the host, or waited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import psycopg

from observatory.store.queries.windows import findings as store
from observatory.why.findings.observed.samples import Samples, samples_of
from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.intervals import Flags, Integers, Numbers, Steps, distinct_times

Array = Mapping[str, np.ndarray]
UTILIZATION = "observatory_worker_gpu_utilization_percent"
MOST_VALUES, MOST_BINS = 500_000, 3_600
"""that are read of a window, and bins of it: shorter ones tell better which tasks ran while a GPU was idle"""
LEAST_PEAK = 50.0
"""percent: a GPU that is never as busy isn't used by the work, as one that shows a desktop"""
LEAST_BUSY = 0.02
"""share of the time of tasks on its worker, for the same reason"""
LEAST_KNOWN = 0.5
"""share of the time of tasks of which samples are known, from which they tell something"""


@dataclass(frozen=True, slots=True)
class IdleGpu:
    """The used GPUs of a worker, together as one, while tasks ran there."""

    worker: int
    rows: Integers
    """its computations"""
    idle: Numbers
    """of each: seconds of it in which the GPU was idle"""
    known: Numbers
    """of each: seconds of it in which it is known what the GPU did"""
    running: float
    """seconds in which any task ran, and it is known"""
    idle_while_running: float
    """seconds of these, times the share in which the GPU was idle"""

    @property
    def busy_while_running(self) -> float:
        return self.running - self.idle_while_running

    @property
    def overlapping(self) -> float:
        """The share of the idle time in which the GPU could have done what it did at other times.

        It can't do more than it had to, so that preparing while it computes saves no more than that.
        """
        return min(1.0, self.busy_while_running / max(self.idle_while_running, 1e-9))


def read_idle_gpus(
    connection: psycopg.Connection,
    cluster: int,
    computations: Computations,
    window: tuple[int, int],
    workers: int,
) -> list[IdleGpu]:
    """`workers`: how many lived in the window (microseconds)."""
    start, stop = window
    bins = int(np.clip(MOST_VALUES // max(workers, 1), store.BINS, MOST_BINS))
    columns = store.binned_gpus(connection, cluster, UTILIZATION, start, stop, bins)
    return idle_gpus(computations, columns, start, (stop - start) / bins)


def idle_gpus(computations: Computations, columns: Array, start: int, width: float) -> list[IdleGpu]:
    """One for each worker that used a GPU. `columns`: of store.binned_gpus, with bins of `width` from `start`
    on (microseconds)."""
    used = _used_samples(columns, start, width)
    found = []
    for worker in np.unique(used.worker).tolist():
        rows = np.flatnonzero(computations.spans.worker == worker)
        if len(rows):
            one = _of_worker(computations, worker, rows, used)
            known = float(one.known.sum()) >= LEAST_KNOWN * float(computations.durations[rows].sum())
            if known and one.busy_while_running >= LEAST_BUSY * one.running:
                found.append(one)
    return found


def _used_samples(columns: Array, start: int, width: float) -> Samples:
    """The mean utilization of those GPUs of each worker that were busy at some time."""
    worker, gpu = (columns[name].astype(np.int64) for name in ("worker", "gpu"))
    is_used = _peaks(worker, gpu, columns["most"]) >= LEAST_PEAK
    place = worker[is_used], columns["bin"][is_used].astype(np.int64)
    order = np.lexsort((place[1], place[0]))
    of, bins, values = place[0][order], place[1][order], columns["mean"][is_used][order]
    if not len(of):
        return samples_of(of, bins, values, start, width)
    firsts = np.flatnonzero(np.concatenate([[True], (of[1:] != of[:-1]) | (bins[1:] != bins[:-1])]))
    means = np.add.reduceat(values, firsts) / np.diff(np.append(firsts, len(of)))
    return samples_of(of[firsts], bins[firsts], means, start, width)


def _peaks(worker: Integers, gpu: Integers, most: Numbers) -> Numbers:
    """The greatest value of the row's worker and GPU."""
    if not len(worker):
        return np.zeros(0)
    _, place = np.unique(np.stack([worker, gpu]), axis=1, return_inverse=True)
    peaks = np.zeros(int(place.max()) + 1)
    np.maximum.at(peaks, place.ravel(), most)
    return np.asarray(peaks[place.ravel()])


def _of_worker(computations: Computations, worker: int, rows: Integers, used: Samples) -> IdleGpu:
    times = computations.spans.times.where(rows)
    of_worker: Flags = used.worker == worker
    sampled = used.times.where(of_worker)
    edges = distinct_times(times.start, times.stop, sampled.start, sampled.stop)
    place = np.clip(np.searchsorted(sampled.stop, edges[:-1], side="right"), 0, len(sampled) - 1)
    is_known = sampled.covers(edges)
    idle_share = np.where(is_known, 1 - np.clip(used.value[of_worker][place] / 100, 0, 1), 0.0)
    is_running = is_known & (times.counts(edges) > 0)
    idle, known = Steps(edges, idle_share), Steps(edges, is_known.astype(np.float64))
    return IdleGpu(
        worker,
        rows,
        idle.integrals(times) / 1e6,
        known.integrals(times) / 1e6,
        Steps(edges, is_running.astype(np.float64)).seconds,
        Steps(edges, np.where(is_running, idle_share, 0.0)).seconds,
    )
