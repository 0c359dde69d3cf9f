"""Why a worker left a cluster, as Dask's scheduler names it.

The scheduler gives each removal of a worker a `stimulus_id`: the agent gets it from Dask, the collector reads
it in the scheduler's log.
"""

from __future__ import annotations

from typing import NamedTuple

REMOVED, RETIRED, LOST = "removed", "retired", "lost"
DISAPPEARED = "disappeared"
"""without the agent: its connection broke, and nothing says whether it was closed or killed"""
UNKNOWN = "unknown"
"""without the agent and without the scheduler's log"""


class Reason(NamedTuple):
    reason: str
    """REMOVED, RETIRED, LOST, DISAPPEARED or UNKNOWN"""
    why: str
    """for people; continues a sentence after a colon"""


BROKEN = Reason(LOST, "its connection to the scheduler broke")
"""As the scheduler sees a worker that died, and also one that closed without announcing it."""
OVERDUE = Reason(LOST, "it sent no heartbeat for longer than distributed.scheduler.worker-ttl")
RESTARTED = Reason(REMOVED, "a client restarted it")
CLOSED_BY_SCHEDULER = Reason(REMOVED, "the scheduler closed it")

BY_STIMULUS = (
    ("check-worker-ttl", OVERDUE),
    ("worker-ttl", OVERDUE),
    ("handle-worker-cleanup", BROKEN),
    ("worker-send-comm-fail", BROKEN),
    ("send-all-comm-fail", BROKEN),
    ("retire-workers", Reason(RETIRED, "it was retired")),
    ("worker-close-gracefully", Reason(RETIRED, "it closed in order, as at the end of its lifetime")),
    ("worker-close", Reason(REMOVED, "it closed")),
    ("nanny-close", Reason(REMOVED, "its nanny closed")),
    ("scheduler-restart", Reason(REMOVED, "the cluster was restarted")),
    ("client-restart", RESTARTED),
)
"""By the beginning of Scheduler.remove_worker's stimulus_id."""


def reason_of(stimulus: str) -> Reason:
    """Why the scheduler removed a worker."""
    for prefix, reason in BY_STIMULUS:
        if stimulus.startswith(prefix):
            return reason
    return Reason(REMOVED, stimulus or "it left")
