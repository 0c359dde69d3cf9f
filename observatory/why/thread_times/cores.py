"""How long threads were kept because others had the cores of the machine.

Source: the time for which Linux had threads ready to run without a core (/proc/…/schedstat), as the agent
samples it of event loops and of tasks. Other processes of the machine, more threads that compute than it has
cores, and limits of a container's CPU all cause it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from observatory.why.findings.observed.samples import Samples, values_at
from observatory.why.intervals import Integers, Intervals, Numbers, Steps, added, distinct_times
from observatory.why.thread_times.kinds import OWN, ThreadKind
from observatory.why.thread_times.thread_time import ThreadTime

SCHEDULER_OWN, WORKER_OWN = (
    "observatory_scheduler_event_loop_own_interval_seconds",
    "observatory_worker_event_loop_own_interval_seconds",
)
"""mean seconds between two ticks, without the time in which the loop had no core: where agents tell it"""
SCHEDULER, WORKER = (
    "observatory_scheduler_event_loop_interval_seconds",
    "observatory_worker_event_loop_interval_seconds",
)
WANTED, USED = "observatory_worker_task_cpu_percent", "observatory_worker_cpu_percent"
"""what tasks would use if they had a core whenever they are ready to run, and what their process used"""
METRICS = (SCHEDULER_OWN, SCHEDULER, WORKER_OWN, WORKER, WANTED, USED)
OF_LOOPS = (ThreadKind.READY, ThreadKind.TRANSFER)
"""what threads of a worker wait for its event loop in"""


@dataclass(frozen=True, slots=True)
class WithoutCore:
    """Seconds of threads."""

    waiting: float
    """in which what they waited for was an event loop without a core"""
    computing: float
    """in which tasks were ready to run"""


def without_core(read: Callable[[str], Samples], time: ThreadTime) -> WithoutCore | None:
    """`read` returns the samples of a metric; None: what the loops of workers lost isn't known."""
    if not len(read(WORKER_OWN).value):
        return None
    return WithoutCore(waited_without_core(read, time), _computing(read, time))


def waited_without_core(
    read: Callable[[str], Samples], time: ThreadTime, during: Intervals | None = None
) -> float:
    """For how many seconds threads waited for event loops that had no core; `during`: at these times alone,
    which are separate and in order."""
    own = read(WORKER_OWN)
    lost = 1 - own_share(own, read(WORKER))
    waiting = sum(
        float((_taken(time, worker, OF_LOOPS, own.times.where(rows), during) * lost[rows]).sum())
        for worker, rows in _rows(own, time)
    )
    scheduler = read(SCHEDULER_OWN)
    of_scheduler = 1 - own_share(scheduler, read(SCHEDULER))
    idle = _at(time.shared[ThreadKind.SCHEDULER], during)
    return waiting + float((idle.integrals(scheduler.times) / 1e6 * of_scheduler).sum())


def own_share(own: Samples, ticks: Samples) -> Numbers:
    """Of the time of each sample of `own`, in which its loop had a core or waited for something else.

    `own`: of SCHEDULER_OWN or WORKER_OWN; `ticks`: of the same loops, with the time without a core.
    """
    return np.asarray(own.value / np.maximum(np.maximum(values_at(own, ticks), own.value), 1e-9))


def _computing(read: Callable[[str], Samples], time: ThreadTime) -> float:
    wanted = read(WANTED)
    cores = np.maximum(wanted.value - values_at(wanted, read(USED)), 0) / 100
    seconds = cores * wanted.times.lengths / 1e6
    return sum(
        float(np.minimum(seconds[rows], _taken(time, worker, OWN, wanted.times.where(rows))).sum())
        for worker, rows in _rows(wanted, time)
    )


def _rows(samples: Samples, time: ThreadTime) -> list[tuple[int, Integers]]:
    """The samples of each worker with threads."""
    return [(worker, np.flatnonzero(samples.worker == worker)) for worker in time.workers]


def _taken(
    time: ThreadTime,
    worker: int,
    kinds: Collection[ThreadKind],
    times: Intervals,
    during: Intervals | None = None,
) -> Numbers:
    """Seconds for which threads of a worker were of some kinds in each interval."""
    taken = _at(added([time.taken_by(worker, kind) for kind in kinds]), during)
    return np.asarray(taken.integrals(times) / 1e6)


def _at(taken: Steps, during: Intervals | None) -> Steps:
    """What is taken at these times; None: at all."""
    if during is None or len(taken.edges) < 2:
        return taken
    edges = distinct_times(taken.edges, during.start, during.stop)
    return Steps(edges, np.where(during.covers(edges), taken.at(edges[:-1]), 0.0))
