"""First tasks on each worker that took longer: imports, connections, compilation, caches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import LEAST_OF_OVERHEAD, Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.tasks.first_uses import FirstUse
from observatory.why.findings.texts import facts
from observatory.why.intervals import Intervals
from observatory.why.thread_times.kinds import FINISHED, ThreadKind
from observatory.why.what_if.without import Shorter, Without


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each prefix whose first tasks took longer: each worker has them, whatever it does."""
    for use in evidence.first_uses:
        finding = _finding(evidence, use)
        is_much = finding.cost.thread_seconds >= LEAST_OF_OVERHEAD * evidence.waits.active
        if is_much and evidence.is_worth(finding.cost):
            yield finding


def _finding(evidence: Evidence, use: FirstUse) -> Finding:
    found = evidence.computations
    times = found.spans.times.where(use.rows)
    waited = evidence.waits.waited_for(Intervals(times.start + round(use.usual * 1e6), times.stop))
    seconds = found.durations[use.rows] - use.usual + waited
    typical = float(np.median(found.durations[use.rows]))
    return Finding(
        f"The first tasks of {evidence.prefix(use.prefix)} on {_workers(use)} "
        f"took {format_duration(typical)}, later ones {format_duration(use.usual)}: something is set up when "
        f"it is used first.",
        evidence.cost(float(seconds.sum())),
        facts(
            ("first tasks that took longer", f"{len(use.rows):,}"),
            ("tasks of the prefix", f"{found.counts[use.prefix]:,}"),
            ("idle threads waited", format_duration(float(waited.sum()))),
        ),
        (evidence.moment("the first begins", float(times.start.min()) / 1e6),),
        evidence.tasks(use.rows[np.argsort(-seconds, kind="stable")][:10]),
        use.workers,
        (use.prefix,),
        without=Without((Shorter(use.rows, found.durations[use.rows] - use.usual),)),
    )


def _workers(use: FirstUse) -> str:
    return f"each of {len(use.workers):,} workers" if len(use.workers) > 1 else "each thread of the worker"


KIND = FindingKind(
    title="first uses on each worker",
    advice="Set it up before tasks need it: import in a worker plugin or by `--preload`, open connections "
    "and load models once a worker, and keep compiled code and caches on disk. The tab Profile has what they "
    "did.",
    documentation="https://distributed.dask.org/en/stable/plugins.html#worker-plugins",
    find=find,
    counts=(*FINISHED, ThreadKind.OTHERS),
    explained_by=("serialized",),
)
