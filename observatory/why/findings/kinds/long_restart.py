"""A client restarted all workers, and that took most of the time. What it takes otherwise is planned."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import facts
from observatory.why.intervals import Intervals, Steps, added
from observatory.why.thread_times.kinds import BUSY

LEAST_SHARE = 0.5
"""of the window"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all restarts of the window, without the time in which tasks ran again."""
    times, waits = evidence.restarts, evidence.waits
    window = (evidence.stop - evidence.start) / 1e6
    seconds = _seconds(times) - _seconds_computing(evidence, times)
    # the threads that were there, and those that were missing
    cost = Cost(seconds * waits.most_threads, seconds)
    if seconds < LEAST_SHARE * window or not evidence.is_worth(cost):
        return
    longest = int(np.argmax(times.lengths))
    yield Finding(
        f"A client restarted all workers: for {format_duration(seconds)} of {format_duration(window)} no "
        f"task ran, until they were back.",
        cost,
        facts(
            ("share of the window", format_percent(seconds / window)),
            ("restarts", f"{len(times):,}"),
            ("the longest took", format_duration(float(times.lengths[longest]) / 1e6)),
        ),
        (evidence.moment("it begins", float(times.start[longest]) / 1e6),),
    )


def _seconds(times: Intervals) -> float:
    return float(times.lengths.sum()) / 1e6


def _seconds_computing(evidence: Evidence, times: Intervals) -> float:
    """For how much of some times any thread computed."""
    busy = added([evidence.waits.taken[kind] for kind in BUSY])
    is_busy = Steps(busy.edges, (busy.values > 0).astype(np.float64))
    return float(is_busy.integrals(times).sum()) / 1e6


KIND = FindingKind(
    title="restarts of all workers that take long",
    advice="See in the logs of the workers what kept the new processes: imports of a preload, a queue of the "
    "batch system, a machine without a free core. `client.restart_workers` restarts some of them.",
    documentation="https://distributed.dask.org/en/stable/api.html#distributed.Client.restart",
    find=find,
)
