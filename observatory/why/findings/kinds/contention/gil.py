"""Prefixes whose tasks waited for Python's global interpreter lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import TASK_CPU, Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.samples import Samples
from observatory.why.findings.texts import facts
from observatory.why.intervals import Integers, Intervals, Numbers
from observatory.why.thread_times.gil import CONTENTION, gil_waits
from observatory.why.thread_times.kinds import FINISHED, ThreadKind
from observatory.why.what_if.without import Shorter, Without

LEAST_CONTENTION = 0.3
"""share of the time of a prefix' tasks in which its workers' threads waited for the GIL"""
LEAST_TASKS = 4
LEAST_HELD = 0.5
"""of the time in which threads waited for the GIL, that tasks used the CPU: one of them holds it then"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each prefix that holds the GIL."""
    samples = _contended(evidence)
    if not (samples.value >= LEAST_CONTENTION).any():
        return
    spans = evidence.computations.spans
    contended, shared = gil_waits(spans, samples)
    late = _late(evidence, samples) / max(float(contended.sum()), 1e-9)
    for prefix in np.unique(spans.prefix).tolist():
        rows = np.flatnonzero(spans.prefix == prefix)
        computed = float(evidence.computations.durations[rows].sum())
        share = float(contended[rows].sum()) / max(computed, 1e-9)
        cost = evidence.cost(float(shared[rows].sum()))
        is_much = share >= LEAST_CONTENTION and len(rows) >= LEAST_TASKS and evidence.is_worth(cost)
        if is_much and not _is_held_by_others(evidence, rows, contended):
            yield _finding(evidence, prefix, rows, contended, shared, late * float(contended[rows].sum()))


def _is_held_by_others(evidence: Evidence, rows: Integers, contended: Numbers) -> bool:
    """Whether tasks used too little of the CPU to hold it: a method of an actor or another thread does."""
    workers = np.unique(evidence.computations.spans.worker[rows])
    if not np.isin(workers, evidence.samples(TASK_CPU).worker).all():
        return False
    used = evidence.waiting_tasks.computed(rows) * _threads(evidence, workers.tolist())
    return bool(used < LEAST_HELD * float(contended[rows].sum()))


def _threads(evidence: Evidence, workers: Sequence[int]) -> int:
    """The most threads that one of some workers has."""
    return max((evidence.ends[id].threads for id in workers if id in evidence.ends), default=0)


def _contended(evidence: Evidence) -> Samples:
    """The samples of contention, without what a thread without a core held the GIL for: that is the
    machine's."""
    samples = evidence.samples(CONTENTION)
    return replace(samples, value=samples.value * (1 - evidence.tasks_without_core))


def _late(evidence: Evidence, samples: Samples) -> float:
    """How long tasks waited to begin, because the event loop of their worker waited for the GIL.

    Or to be sent: it reports late what has ended, for the share of the time in which threads waited for it.
    """
    is_contended = samples.value >= LEAST_CONTENTION
    times = {
        id: samples.times.where(np.flatnonzero(is_contended & (samples.worker == id))).union()
        for id in np.unique(samples.worker[is_contended]).tolist()
    }
    of_kind = evidence.waits.of_kind_during
    return of_kind(ThreadKind.READY, times) + sum(
        of_kind(ThreadKind.SCHEDULER, {id: some}) * _contention(samples, id, some)
        for id, some in times.items()
    )


def _contention(samples: Samples, worker: int, times: Intervals) -> float:
    """The mean share of some times, made of samples of a worker, in which its threads waited for the GIL."""
    own = samples.worker == worker
    some = samples.times.where(own)
    lengths = some.lengths * times.include((some.start + some.stop) // 2)
    return float(np.average(samples.value[own], weights=lengths)) if lengths.any() else 0.0


def _finding(
    evidence: Evidence, prefix: int, rows: Integers, contended: Numbers, shared: Numbers, late: float
) -> Finding:
    computed = float(evidence.computations.durations[rows].sum())
    share = float(contended[rows].sum()) / computed
    workers = np.unique(evidence.computations.spans.worker[rows]).tolist()
    waited = float(shared[rows].sum())
    order = rows[np.argsort(-contended[rows], kind="stable")][:5]
    first = float(evidence.computations.spans.times.start[order[0]]) / 1e6
    return Finding(
        f"Tasks of {evidence.prefix(prefix)} hold the GIL: while they ran, threads of their workers "
        f"waited for it "
        f"{format_percent(share)} of the time, so that they took {format_duration(waited)} longer.",
        evidence.cost(waited + late),
        facts(
            ("computing", format_duration(computed)),
            ("threads of a worker", f"{_threads(evidence, workers):,}"),
            ("share of time waiting for the GIL", format_percent(share)),
            ("waiting to begin, as the event loops waited for it too", format_duration(late)),
        ),
        (evidence.moment("most contended task begins", first),),
        evidence.tasks(order),
        prefixes=(prefix,),
        without=Without((Shorter(rows, shared[rows]),)),
    )


KIND = FindingKind(
    title="tasks that hold the GIL",
    advice="Use more worker processes with fewer threads each (`LocalCluster(n_workers=…, "
    "threads_per_worker=1)`, "
    "`dask worker --nworkers=auto`), or functions that release the GIL, such as those of numpy and pandas.",
    documentation="https://distributed.dask.org/en/stable/worker.html#thread-pool",
    find=find,
    counts=(*FINISHED, ThreadKind.READY, ThreadKind.SCHEDULER, ThreadKind.OTHERS),
)
