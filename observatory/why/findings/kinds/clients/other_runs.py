"""Tasks of other clients that took threads which a run's own tasks waited for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import facts
from observatory.why.intervals import Steps, distinct_times
from observatory.why.thread_times.kinds import ThreadKind


def find(evidence: Evidence) -> Iterator[Finding]:
    if not len(evidence.records.others.worker):
        return
    taken = _needed(evidence)
    seconds = float((taken.values * np.diff(taken.edges)).sum()) / 1e6
    cost = Cost(seconds, seconds / evidence.waits.most_threads)
    if not evidence.is_worth(cost):
        return
    total = evidence.waits.seconds[ThreadKind.OTHER_RUNS]
    share = total / sum(evidence.waits.seconds.values())
    yield Finding(
        f"Tasks of other runs took {format_percent(share)} of the time of threads, and tasks of this run "
        f"waited for {format_duration(seconds)} of it.",
        cost,
        facts(("tasks of other runs computed", format_duration(total))),
        (evidence.moment("most threads", evidence.peak(ThreadKind.OTHER_RUNS)),),
    )


def _needed(evidence: Evidence) -> Steps:
    """Threads of others for each of which a task of the run waited, at its worker or at the scheduler."""
    taken = evidence.waits.taken[ThreadKind.OTHER_RUNS]
    waiting = evidence.in_line
    edges = distinct_times(taken.edges, waiting.start, waiting.stop)
    return Steps(edges, np.minimum(taken.at(edges[:-1]), waiting.counts(edges)))


KIND = FindingKind(
    title="tasks of other runs that took threads",
    advice="Run them one after the other, on clusters of their own, or give this run's tasks a higher "
    "priority: `client.submit(…, priority=10)`, `dask.annotate(priority=10)`.",
    documentation="https://docs.dask.org/en/stable/priority.html",
    find=find,
    counts=(ThreadKind.OTHER_RUNS,),
)
