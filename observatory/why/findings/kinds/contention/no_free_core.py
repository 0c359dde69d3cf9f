"""A machine without a free core: tasks and event loops were ready to run, and others ran."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.texts import facts
from observatory.why.thread_times.kinds import OWN, ThreadKind

LEAST_SHARE = 0.5
"""of the time of threads while there was something to do: below that, what was to do is the larger cause"""
OF_LOOPS = (ThreadKind.READY, ThreadKind.SCHEDULER, ThreadKind.TRANSFER)
"""what threads wait for event loops in"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all machines of the cluster."""
    lost = evidence.without_core
    if lost is None:
        return
    seconds, active = lost.waiting + lost.computing, evidence.waits.active
    cost = evidence.cost(seconds)
    if seconds < LEAST_SHARE * active or not evidence.is_worth(cost):
        return
    yield Finding(
        f"For {format_duration(seconds)}, {format_percent(min(seconds / active, 1.0))} of the threads' time, "
        "the machine had no free core for tasks and event loops that were ready to run.",
        cost,
        facts(
            ("tasks were ready to run", format_duration(lost.computing)),
            ("threads waited for event loops that were ready to run", format_duration(lost.waiting)),
        ),
        parts=((OF_LOOPS, lost.waiting), (OWN, lost.computing)),
    )


KIND = FindingKind(
    title="machines without a free core",
    advice="Look at what else runs on the machines of the workers and of the scheduler. Give containers a "
    "higher limit of CPU, and jobs more cores. Where workers have more threads that compute than there are "
    "cores, fewer threads take as long, with less memory.",
    documentation="https://docs.dask.org/en/stable/deployment-considerations.html",
    find=find,
    counts=(*OF_LOOPS, *OWN),
)
