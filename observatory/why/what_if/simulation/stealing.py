"""When the scheduler balances, and which workers take tasks of others then."""

from __future__ import annotations

import math

from observatory.why.what_if.simulation.workers import SimulatedWorker

STEALING = 1.0
"""seconds between two balances: distributed.scheduler.work-stealing-interval"""


def is_unoccupied(worker: SimulatedWorker, usual: float) -> bool:
    """SchedulerState.is_unoccupied: it has a free thread, or less than half of what others have.

    `usual`: seconds of tasks for each thread of all workers.
    """
    return worker.processing < worker.threads or worker.occupancy < usual * worker.threads / 2


def next_balance(time: float) -> float:
    """The scheduler balances whether there is work or not: in half of an interval on average."""
    return (math.floor(time / STEALING + 0.5) + 0.5) * STEALING
