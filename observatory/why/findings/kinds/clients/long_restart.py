"""A client restarted all workers, and that took most of the time. What it takes otherwise is planned."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import facts

LEAST_SHARE = 0.5
"""of the window"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all restarts of the window, without the time in which tasks ran again."""
    times, waits = evidence.restarts, evidence.waits
    if not len(times):
        return
    window = (evidence.stop - evidence.start) / 1e6
    seconds = times.seconds - waits.seconds_while_any_computes(times)
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


KIND = FindingKind(
    title="restarts of all workers that take long",
    advice="See in the logs of the workers what kept the new processes: imports of a preload, a queue of the "
    "batch system, a machine without a free core. `client.restart_workers` restarts some of them.",
    documentation="https://distributed.dask.org/en/stable/api.html#distributed.Client.restart",
    find=find,
)
