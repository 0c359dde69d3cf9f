"""Threads that had nothing to do for long."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import counted, facts
from observatory.why.intervals import Intervals
from observatory.why.thread_times.kinds import ThreadKind

LEAST_SHARE = 0.4
"""of the time of all threads"""
LEAST_SECONDS = 1_800.0
"""of threads"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding where the client sent nothing for much of the window."""
    waits = evidence.waits
    idle, total = waits.seconds[ThreadKind.NOTHING], sum(waits.seconds.values())
    if idle < LEAST_SECONDS or idle < LEAST_SHARE * total:
        return
    longest = _longest_gap(evidence)
    would_do = max(1, round((total - idle) / max((evidence.stop - evidence.start) / 1e6, 1e-6)))
    yield Finding(
        f"Threads had nothing to do for {format_duration(idle)}, {format_percent(idle / total)} of "
        f"their time: the "
        f"client had sent no tasks. {counted(would_do, 'thread')} would have been enough for all of "
        f"the work.",
        Cost(idle, 0.0),
        facts(
            ("time of all threads", format_duration(total)),
            ("threads that would have been enough", f"{would_do:,}"),
            ("longest without a task", format_duration((longest[1] - longest[0]) / 1e6)),
        ),
        (evidence.moment("longest without a task", longest[0] / 1e6),),
    )


def _longest_gap(evidence: Evidence) -> tuple[int, int]:
    busy = evidence.unfinished
    starts = np.concatenate([[evidence.start], busy.stop])
    stops = np.concatenate([busy.start, [evidence.stop]])
    gaps = Intervals.of(starts, np.maximum(starts, stops))
    place = int(np.argmax(gaps.stop - gaps.start))
    return int(gaps.start[place]), int(gaps.stop[place])


KIND = FindingKind(
    title="threads without anything to do",
    advice="Close clusters that aren't used, or let them adapt their size: "
    "`cluster.adapt(minimum=0, maximum=…)`.",
    documentation="https://docs.dask.org/en/stable/adaptive.html",
    find=find,
    counts=(ThreadKind.NOTHING,),
    explained_by=("client",),
)
