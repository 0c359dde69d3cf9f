"""What stopped a run from outside: its scheduler was lost or closed, a signal, or its client went away."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from signal import Signals

from observatory.clusters.end_reasons import CLOSED, IMPORTED
from observatory.clusters.models import Cluster
from observatory.runs.discovery.client_runs import EXCEPTION
from observatory.runs.models import Run
from observatory.wire.client_code.runs import CLIENT_LEFT, SCHEDULER_CLOSED

LOST = Run.Outcome.LOST.value
TEXTS = {
    CLIENT_LEFT: "Its client went away before it had ended.",
    SCHEDULER_CLOSED: "Its scheduler closed while it waited for tasks.",
}


@dataclass(frozen=True, slots=True)
class Stop:
    """How a run, or the work of a cluster, was stopped."""

    reason: str
    """LOST, CLIENT_LEFT, SCHEDULER_CLOSED or the name of a signal"""
    start: datetime
    """of what was stopped"""
    time: datetime


def stop_of_run(run: Run) -> Stop | None:
    """None for a run that goes on, or that its code ended."""
    if run.stop is None:
        return None
    if run.outcome == Run.Outcome.LOST:
        return Stop(LOST, run.start, run.stop)
    reason = run.tags.get(EXCEPTION, "") if run.outcome == Run.Outcome.ERRED else ""
    return Stop(reason, run.start, run.stop) if stop_text(reason) else None


def stop_of_cluster(cluster: Cluster) -> Stop | None:
    """None for a cluster that goes on, was closed or imported, or of which only the recording ended."""
    if cluster.ended is None or cluster.end_reason in (CLOSED, IMPORTED, ""):
        return None
    return None if cluster.is_unobserved else Stop(LOST, cluster.started, cluster.ended)


def stop_text(reason: str) -> str:
    """What the agent tags a run with that was stopped, in a sentence; "" for types of exceptions."""
    return f"Its process got {reason}." if reason in Signals.__members__ else TEXTS.get(reason, "")
