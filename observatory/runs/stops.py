"""What stopped a run from outside: its scheduler was lost or closed, a signal, or its client went away."""

from __future__ import annotations

from signal import Signals

from observatory.runs.discovery.client_runs import EXCEPTION
from observatory.runs.models import Run
from observatory.wire.runs import CLIENT_LEFT, SCHEDULER_CLOSED

TEXTS = {
    CLIENT_LEFT: "Its client went away before it had ended.",
    SCHEDULER_CLOSED: "Its scheduler closed while it waited for tasks.",
}


def stopped_by(run: Run) -> str:
    """LOST as its outcome is, CLIENT_LEFT, SCHEDULER_CLOSED or the name of a signal; "" for other ends."""
    if run.outcome == Run.Outcome.LOST:
        return Run.Outcome.LOST.value
    reason = run.tags.get(EXCEPTION, "") if run.outcome == Run.Outcome.ERRED else ""
    return reason if stop_text(reason) else ""


def stop_text(reason: str) -> str:
    """What the agent tags a run with that was stopped, in a sentence; "" for types of exceptions."""
    return f"Its process got {reason}." if is_signal(reason) else TEXTS.get(reason, "")


def is_signal(reason: str) -> bool:
    return reason in Signals.__members__
