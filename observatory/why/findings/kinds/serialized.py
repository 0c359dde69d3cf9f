"""Tasks that wait for one of Dask's locks or semaphores, so that they run one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import Evidence, counted, facts
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.intervals import Numbers

PENDING, MOST = "dask_semaphore_pending_leases", "dask_semaphore_max_leases"
LABEL = "name"
LEAST_SHARE = 0.1
"""of the time of threads in which there was something to do"""
LONGEST_STEP = 5.0
"""seconds for which a sample counts"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each lock or semaphore for which tasks waited."""
    pending, most = (evidence.labelled(metric, LABEL) for metric in (PENDING, MOST))
    for name, samples in pending.items():
        lengths = _lengths(samples.time)
        waited = float((samples.value * lengths).sum())
        cost = evidence.cost(waited)
        if waited < LEAST_SHARE * evidence.waits.active or not evidence.is_worth(cost):
            continue
        waiting = samples.value > 0
        leases = int(most[name].value.max()) if name in most else 1
        length = float(lengths[waiting].sum())
        yield Finding(
            f"Tasks waited {format_duration(waited)} for “{evidence.text(name)}”, a lock or semaphore that "
            f"{counted(leases, 'task')} can hold at once: for {format_duration(length)}, "
            f"{waited / length:.1f} waited on average.",
            cost,
            facts(
                ("most at once", f"{leases:,}"),
                ("waited on average", f"{waited / length:.1f}"),
                ("most that waited", f"{int(samples.value.max()):,}"),
            ),
            (evidence.moment("tasks wait from here on", float(samples.time[np.argmax(waiting)])),),
        )


def _lengths(times: Numbers) -> Numbers:
    """For how many seconds each sample counts: until the next one."""
    return np.minimum(np.diff(times, append=times[-1:]), LONGEST_STEP)


KIND = FindingKind(
    title="locks and semaphores that tasks wait for",
    advice="Hold it for as short as possible: compute before it is acquired, and only write while it is "
    "held. Allow more leases where what it protects can take them, or send this work to one task of its own.",
    documentation="https://docs.dask.org/en/stable/futures.html#coordination-primitives",
    find=find,
)
