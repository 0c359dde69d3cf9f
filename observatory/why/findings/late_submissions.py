"""When threads were idle because a client was busy with its own code before it submitted more tasks."""

from __future__ import annotations

import numpy as np

from observatory.why.findings.evidence import Evidence
from observatory.why.intervals import Intervals
from observatory.why.thread_times.assignments import NO_WORKER, QUEUED, WAITING, stays
from observatory.why.what_if.submissions import RELEASED


def waits_for_client(evidence: Evidence) -> Intervals:
    """While tasks ran, none waited for them, a thread or the scheduler, and more were submitted later."""
    transitions = evidence.records.transitions
    submitted = transitions.time[transitions.start == RELEASED]
    own_code = evidence.clients.own_code
    if not len(submitted) or not len(own_code):
        return Intervals.none()
    known = stays(evidence.records)
    left = known.where(np.isin(known.state, (WAITING, NO_WORKER, QUEUED))).times.union()
    found = own_code.clipped(evidence.start, int(submitted.max())).union()
    return found.without(left).without(evidence.sent.waits.union())
