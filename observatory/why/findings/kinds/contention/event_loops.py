"""Event loops of workers that were blocked, so that tasks that had been sent there began late."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import LEAST_OF_OVERHEAD, Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.workers.loops import (
    WAITING,
    LoopTicks,
    are_imports,
    scheduler_ticks,
    without_stalls,
    worker_ticks,
)
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Intervals, joined
from observatory.why.thread_times.kinds import ThreadKind

LONG = 0.25
"""mean seconds between two ticks"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers whose event loop was blocked while tasks waited there."""
    ticks = worker_ticks(evidence)
    ticks, samples = ticks.only(~are_imports(evidence, ticks)), ticks.samples
    waited = ticks.waited(evidence)
    unreported = _unreported(evidence, ticks)
    workers = sorted((id for id in waited if waited[id] > 0 or unreported), key=lambda id: -waited[id])
    cost = evidence.cost(sum(waited.values()) + unreported)
    is_much = cost.thread_seconds >= LEAST_OF_OVERHEAD * evidence.waits.active
    if not workers or not is_much or not evidence.is_worth(cost):
        return
    of_them = np.isin(samples.worker, workers)
    worst = np.flatnonzero(of_them)[int(np.argmax(samples.value[of_them]))]
    code = evidence.code.of_loops(*workers)
    by = f" It was seen most often in {code[0]}." if code else ""
    yield Finding(
        f"The event loop of {counted(len(workers), 'worker')} "
        f"({listed([evidence.worker(id) for id in workers])}) "
        f"was blocked: threads waited {format_duration(cost.thread_seconds)} until tasks that had been sent "
        f"there began, or until their results were reported.{by}",
        cost,
        facts(
            *((evidence.worker(id), format_duration(waited[id])) for id in workers[:5]),
            ("results not reported", format_duration(unreported) if unreported else None),
            ("between two ticks, up to", format_duration(float(samples.value[worst]))),
            ("code of the event loop", ", ".join(code)),
        ),
        (
            evidence.moment(
                "blocked longest", float(samples.times.start[worst] + samples.times.stop[worst]) / 2e6
            ),
        ),
        workers=tuple(workers),
        without=without_stalls(evidence, workers, cost.thread_seconds),
    )


def _unreported(evidence: Evidence, ticks: LoopTicks) -> float:
    """How long threads waited while none computed, or those of a blocked worker while none of them did:
    results were not reported to the scheduler yet. Where a loop is blocked for long, and the
    scheduler's isn't, whatever computes: it can be a coroutine."""
    waits, spans = evidence.waits, evidence.computations.spans
    of_all = waits.while_none_computes(ThreadKind.SCHEDULER, ticks.blocked)
    of_scheduler = scheduler_ticks(evidence).blocked
    of_blocked, long = 0.0, ticks.only(ticks.samples.value >= LONG).by_worker()
    for id, times in ticks.by_worker().items():
        idle = times.without(spans.times.where(spans.worker == id).union())
        long_times = long.get(id, Intervals.none()).without(of_scheduler)
        idle = joined([idle, long_times]).union()
        of_blocked += waits.of_kind_during(ThreadKind.SCHEDULER, {id: idle}) * ticks.own_share(id)
    return min(max(of_all, of_blocked), waits.most_threads * ticks.blocked_seconds)


KIND = FindingKind(
    title="blocked event loops of workers",
    advice="The code of the event loop says by what. A coroutine has to `await` what it waits for. "
    "Large objects in tasks and results take long to be unpickled. Tasks that hold "
    "the GIL (C code that doesn't release it, large loops in Python) keep it as well: use more processes "
    "with fewer threads.",
    documentation="https://distributed.dask.org/en/stable/worker.html",
    find=find,
    counts=(*WAITING, ThreadKind.SCHEDULER, ThreadKind.OTHERS),
    explained_by=("gil", "memory-full"),
)
