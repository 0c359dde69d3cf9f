"""How fast a cluster sent tasks and data, as it was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from observatory.why.critical_path.predecessors import NONE, LastEnded, previous_of
from observatory.why.intervals import Integers, Numbers
from observatory.why.records import Records
from observatory.why.thread_times.assignments import PROCESSING, Stays
from observatory.why.what_if.recorded.plan import Plan

BANDWIDTH = 100e6
"""bytes a second, where no transfer was recorded: Dask's distributed.scheduler.bandwidth"""
LARGE = 100_000
"""bytes of a transfer that tells the bandwidth; smaller ones tell how long any transfer takes"""
FEWEST = 5
LONGEST = 0.1
"""seconds that sending a task takes at most"""


@dataclass(frozen=True, slots=True)
class Transfers:
    """What workers received: columns."""

    nbytes: Integers
    seconds: Numbers


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds, and bytes a second."""

    sending: float
    """from when the last thing that a task needed was there, until the task begins on an idle thread"""
    turning: float
    """between two tasks of a thread that had the second one already"""
    deciding: float
    """in which the scheduler handles one task, and nothing else"""
    fetching: float
    """of a transfer, beside its bytes"""
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Spilling:
    """What would be different if nothing had been spilled, beside the time of the disk."""

    rates: Rates
    since: Mapping[int, int]
    """when each worker began to spill (microseconds)"""


AT_ONCE = Rates(sending=0, turning=0, deciding=0, fetching=0, bandwidth=1e12)
"""nothing takes time but the tasks"""


def rates_of(
    records: Records, plan: Plan, known: Stays, transfers: Transfers, scheduler_seconds: float
) -> Rates:
    """`scheduler_seconds`: of CPU that the scheduler used in the window."""
    sending, turning = _gaps(records, plan, known, {})
    large = transfers.nbytes >= LARGE
    small = transfers.seconds[~large]
    fetching = float(np.median(small)) if len(small) >= FEWEST else sending
    nbytes, seconds = float(transfers.nbytes[large].sum()), float(transfers.seconds[large].sum())
    seconds -= fetching * float(large.sum())
    bandwidth = nbytes / seconds if seconds > 0 else BANDWIDTH
    deciding = min(scheduler_seconds / max(len(plan), 1), sending / 2)
    return Rates(sending, turning, deciding, fetching, bandwidth)


def without_spilling(
    rates: Rates, records: Records, plan: Plan, known: Stays, spilled: Mapping[int, int]
) -> Rates:
    """As long as things took before workers spilled: they write results on their event loops.

    `spilled`: since when each worker had spilled results (microseconds).
    """
    if not spilled:
        return rates
    sending, turning = _gaps(records, plan, known, spilled)
    return replace(
        rates,
        sending=min(sending, rates.sending),
        turning=min(turning, rates.turning),
        fetching=min(sending, rates.fetching),
    )


def _gaps(records: Records, plan: Plan, known: Stays, until: Mapping[int, int]) -> tuple[float, float]:
    """The medians of what Rates calls `sending` and `turning`. `until`: of some workers (microseconds)."""
    computing, needed = plan.computing, plan.needed
    start, stop = computing.times.start, computing.times.stop
    error = records.clock_errors_of(computing.worker)
    sent = sent_times(known, computing.task, start + error)
    before = previous_of(computing.lane, start)
    freed = np.where(before == NONE, records.start, stop[before])
    needing = needed.needing
    arrived = np.full(len(computing), records.start)
    np.maximum.at(arrived, needing, stop[needed.places])
    is_remote = computing.worker[needing] != computing.worker[needed.places]
    fetches = np.bincount(needing[is_remote], minlength=len(computing)) > 0
    is_free = ~np.isin(np.arange(len(computing)), list(plan.required))
    for worker, time in until.items():
        is_free &= (computing.worker != worker) | (start < time)
    waited_for_needs = (arrived > freed) & (needed.counts > 0) & ~fetches & is_free
    waited_for_thread = (sent > 0) & (sent < freed - error) & (arrived < freed - error) & is_free
    return (
        _usual((start - arrived)[waited_for_needs], LONGEST / 20),
        _usual((start - freed)[waited_for_thread], LONGEST / 100),
    )


def sent_times(known: Stays, task: Integers, latest: Integers) -> Integers:
    """When each task was sent to the worker on which it began (microseconds); 0: that isn't known.

    `latest`: when it can have begun.
    """
    sent = known.where(known.state == PROCESSING)
    found = LastEnded(sent.task, sent.times.start)(task, latest)
    return np.where(found == NONE, 0, np.append(sent.times.start, 0)[found])


def _usual(microseconds: Integers | Sequence[int], otherwise: float) -> float:
    """The median in seconds; `otherwise` where there are too few."""
    if len(microseconds) < FEWEST:
        return otherwise
    return float(np.clip(np.median(microseconds) / 1e6, 1e-4, LONGEST))
