"""When threads were idle because a client submitted more later: it was busy with its own code, or waited
for all tasks of a round."""

from __future__ import annotations

import numpy as np

from observatory.why.findings.evidence import Evidence
from observatory.why.intervals import Intervals, joined
from observatory.why.thread_times.assignments import NO_WORKER, QUEUED, WAITING
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.recorded.submissions import RELEASED

LEAST_OF_ROUNDS = 0.2
"""of the time of threads in which there was something to do, for which they waited for other tasks"""


def waits_for_client(evidence: Evidence) -> Intervals:
    """While tasks ran, none waited for them, a thread or the scheduler, and more were submitted later."""
    return joined([waits_for_own_code(evidence), waits_for_rounds(evidence)]).union()


def waits_for_own_code(evidence: Evidence) -> Intervals:
    """As `waits_for_client`, where the client was busy meanwhile."""
    transitions = evidence.records.transitions
    submitted = transitions.time[transitions.start == RELEASED]
    own_code = evidence.clients.own_code
    if not len(submitted) or not len(own_code):
        return Intervals.none()
    found = own_code.clipped(evidence.start, int(submitted.max())).union()
    return _without_tasks(evidence, found, WAITING, NO_WORKER, QUEUED)


def waits_for_rounds(evidence: Evidence) -> Intervals:
    """While the client waited for all of a round, and threads could have had the next one: they waited for
    no straggler, and no task was on its way to them."""
    waits = evidence.waits
    if waits.seconds[ThreadKind.OTHERS] < LEAST_OF_ROUNDS * waits.active or not len(evidence.clients.waiting):
        return Intervals.none()
    rounds = evidence.simulation.client_rounds if evidence.simulation else ()
    if not rounds:
        return Intervals.none()
    times = Intervals(np.array([one.start for one in rounds]), np.array([one.stop for one in rounds]))
    return _without_tasks(evidence, times.union(), NO_WORKER, QUEUED).without(_stragglers(evidence))


def _without_tasks(evidence: Evidence, times: Intervals, *states: int) -> Intervals:
    """The parts of some times in which no task was in these states, or on its worker and had no thread."""
    known = evidence.stays
    left = known.where(np.isin(known.state, states)).times.union()
    return times.without(left).without(evidence.sent.waits.union())


def _stragglers(evidence: Evidence) -> Intervals:
    """While tasks took longer than is usual."""
    found = evidence.computations
    rows = np.flatnonzero(evidence.stragglers)
    times = found.spans.times.where(rows)
    return Intervals(times.start + np.round(found.usual[rows] * 1e6).astype(np.int64), times.stop).union()
