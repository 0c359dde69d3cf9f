"""Tasks that no worker may run: a resource, a worker or a host that they require isn't there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.samples import LabelledSamples
from observatory.why.findings.texts import counted, facts
from observatory.why.intervals import Intervals
from observatory.why.thread_times.kinds import ThreadKind

METRIC, LABEL = "observatory_cluster_unrunnable_tasks", "reason"
LEAST_SECONDS = 5.0
"""for which tasks could not run, until the end of the window"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each reason for which tasks can't run at the end of the window."""
    for reason, samples in evidence.labelled(METRIC, LABEL).items():
        since = _since(samples)
        if since is None or evidence.stop / 1e6 - since < LEAST_SECONDS:
            continue
        until_end = Intervals.of(np.array([since * 1e6]), np.array([evidence.stop]))
        waited = evidence.waits.while_none_computes(ThreadKind.SCHEDULER, until_end)
        count = int(samples.value[-1])
        yield Finding(
            f"{counted(count, 'task')} can't run: {evidence.text(reason)}. "
            f"{'It has' if count == 1 else 'They have'} waited for "
            f"{format_duration(evidence.stop / 1e6 - since)}, until the end of the window.",
            evidence.cost(waited),
            facts(("tasks", f"{count:,}"), ("because", evidence.text(reason))),
            (evidence.moment("they wait from here on", since),),
        )


def _since(samples: LabelledSamples) -> float | None:
    """Since when there have been such tasks, in seconds; None: at the end there is none."""
    none = np.flatnonzero(samples.value <= 0)
    first = int(none[-1]) + 1 if len(none) else 0
    return float(samples.time[first]) if first < len(samples.value) else None


KIND = FindingKind(
    title="tasks that can't run",
    advice="Start workers with what the tasks require (`--resources`, names, hosts), or compare the tasks' "
    "`resources=` and `workers=` with those of the workers.",
    documentation="https://distributed.dask.org/en/stable/resources.html",
    find=find,
    counts=(ThreadKind.SCHEDULER,),
    is_failure=True,
)
