"""How far the clocks of a cluster's machines may differ before times are corrected or refused, in seconds."""

from __future__ import annotations

from observatory.wire.records import Action

UNCORRECTED_ACTIONS = frozenset({Action.DISK_READ, Action.DISK_WRITE})
"""Actions that Dask times by the worker's clock; it corrects the times of all others."""
HEARTBEAT_LATENCY = 10.0
"""Up to which a worker's delay, as Dask measures it, may be the latency of a heartbeat, not of its clock."""
TOLERANCE = 15.0
"""By which a span may be outside of its worker's life: clocks are corrected to about a latency."""


def heartbeat_interval(workers: int) -> float:
    """Seconds between two heartbeats of a worker, as distributed.scheduler sets it."""
    if workers <= 10:
        return 0.5
    return 1.0 if workers < 50 else 2.0 if workers < 200 else workers / 200 + 1
