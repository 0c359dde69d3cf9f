"""Workers that went silent: their process was stopped, or nothing of it ran."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.workers.loops import had_no_core_or_imported
from observatory.why.findings.observed.workers.silences import Silence, standing_still
from observatory.why.findings.texts import counted, facts
from observatory.why.intervals import Intervals
from observatory.why.thread_times.kinds import FINISHED, ThreadKind
from observatory.why.what_if.without import Shorter, Without

WAITING = (ThreadKind.READY, ThreadKind.TRANSFER)


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each silence; one before a death belongs to that (worker_died.py).

    A worker that imports, or has no core, sends no heartbeats either, and nothing stopped it.
    """
    died = {worker.id for worker in evidence.deaths}
    for silence in evidence.silences:
        if silence.worker not in died and not had_no_core_or_imported(evidence, silence.worker, silence.stop):
            finding = _finding(evidence, silence)
            if evidence.is_worth(finding.cost):
                yield finding


def _finding(evidence: Evidence, silence: Silence) -> Finding:
    found, waits = evidence.computations, evidence.waits
    rows, lost = standing_still(found, silence)
    times = found.spans.times.where(rows)
    begin = np.maximum(times.start, silence.start)
    still = Intervals(begin, begin + np.round(lost * 1e6).astype(np.int64))
    waited = waits.waited_for(still)
    during = {silence.worker: Intervals(np.array([silence.start]), np.array([silence.stop]))}
    sent = sum(waits.of_kind_during(kind, during) for kind in WAITING)
    return Finding(
        f"{evidence.worker(silence.worker)} went silent for {format_duration(silence.seconds)}: the "
        f"scheduler heard nothing of it, and {counted(len(rows), 'task')} on it stood still.",
        evidence.cost(float((lost + waited).sum()) + sent),
        facts(
            ("its tasks took longer by", format_duration(float(lost.sum()))),
            ("idle threads waited", format_duration(float(waited.sum()))),
        ),
        (
            evidence.moment("its last heartbeat before", silence.start / 1e6),
            evidence.moment("it is heard again", silence.stop / 1e6),
        ),
        evidence.tasks(rows[np.argsort(-lost, kind="stable")][:10]),
        (silence.worker,),
        without=Without((Shorter(rows, lost),)),
    )


KIND = FindingKind(
    title="workers that went silent",
    advice="Look at the machine of that time: was it suspended, swapping or out of CPU, or was the process "
    "stopped, as by a debugger or a checkpoint? A library that holds the GIL for long also keeps heartbeats "
    "back. `distributed.scheduler.worker-ttl` says after how long the scheduler gives a worker up.",
    documentation="https://distributed.dask.org/en/stable/resilience.html",
    find=find,
    counts=(*FINISHED, *WAITING, ThreadKind.OTHERS),
    explained_by=("gil",),
)
