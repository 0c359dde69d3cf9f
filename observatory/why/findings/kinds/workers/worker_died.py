"""Workers that died, and what was lost with them and computed again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_bytes, format_duration, format_percent
from observatory.store.queries.windows.findings import WorkerEnd
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Integers
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.simulation.workers import AbsenceKind
from observatory.why.what_if.without import Shorter, Without

MEMORY = "observatory_worker_memory_bytes"
NEAR_LIMIT = 0.85
"""of the memory limit"""
LEAST_SECONDS, LEAST_SHARE = 1.0, 0.1
"""of the window, that missing threads cost, whatever was lost: the lesser of both"""
REPORTED = 10.0
"""seconds around a worker's end, in which its nanny reports it"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers that died."""
    deaths = evidence.deaths
    if not deaths:
        return
    finding = _finding(evidence, deaths)
    least = min(LEAST_SECONDS, LEAST_SHARE * (evidence.stop - evidence.start) / 1e6)
    if evidence.is_worth(finding.cost) or finding.cost.wall_seconds >= least:
        yield finding


def _finding(evidence: Evidence, deaths: list[WorkerEnd]) -> Finding:
    ids = tuple(worker.id for worker in deaths)
    found, time = evidence.computations, evidence.time
    lost = sum(time.workers[id].seconds[ThreadKind.LOST] for id in ids if id in time.workers)
    again = np.flatnonzero(found.repeated & np.isin(found.worker_before, ids))
    recomputed = float(found.durations[again].sum())
    missing = sum(_missing(evidence, worker) for worker in deaths)
    names = listed([evidence.worker(id) for id in ids])
    causes = [cause for worker in deaths if (cause := _cause(evidence, worker))]
    why = f" {causes[0]}" if causes else ""
    what = f"{counted(len(deaths), 'worker')} died: {names}.{why}"
    work = f"{format_duration(lost)} of work was lost with {'it' if len(deaths) == 1 else 'them'}"
    rows = _longest(found.durations, again)
    cost = evidence.waits.of_kind(ThreadKind.LOST) + recomputed
    wall = min((cost + missing) / _threads(evidence, deaths), (evidence.stop - evidence.start) / 1e6)
    return Finding(
        f"{what} {work}, and {counted(len(again), 'task')} computed again.",
        Cost(cost, wall),
        facts(
            ("lost with them", format_duration(lost)),
            ("computed again", f"{counted(len(again), 'task')}, {format_duration(recomputed)}"),
            ("time without their threads", format_duration(missing)),
            *((evidence.worker(worker.id), _memory_text(evidence, worker)) for worker in deaths),
        ),
        tuple(evidence.moment(f"{evidence.worker(worker.id)} died", worker.ended or 0) for worker in deaths),
        evidence.tasks(rows),
        ids,
        without=Without(
            (Shorter(again, found.durations[again]),),
            absences=frozenset((AbsenceKind.DIED, id) for id in ids),
        ),
    )


def _longest(durations: np.ndarray, rows: Integers) -> Integers:
    return rows[np.argsort(-durations[rows], kind="stable")][:10]


def _threads(evidence: Evidence, deaths: list[WorkerEnd]) -> float:
    """How many threads there would have been: the most at any time."""
    return max(evidence.waits.most_threads, float(sum(worker.threads for worker in deaths)))


def _missing(evidence: Evidence, worker: WorkerEnd) -> float:
    """Seconds of its threads from a death until the next worker with its name, or until all was done."""
    assert worker.ended is not None
    later = [
        one.started
        for one in evidence.ends.values()
        if one.started >= worker.ended and (one.name == worker.name or one.address == worker.address)
    ]
    until = round(min([*later, evidence.stop / 1e6]) * 1e6)
    times = evidence.unfinished.clipped(round(worker.ended * 1e6), until)
    return worker.threads * times.seconds


def _memory(evidence: Evidence, worker: WorkerEnd) -> float | None:
    """Memory of the process before the end, in bytes."""
    samples = evidence.samples(MEMORY, "process", "max")
    values = samples.value[samples.worker == worker.id]
    return float(values[-1]) if len(values) else None


def _memory_text(evidence: Evidence, worker: WorkerEnd) -> str | None:
    memory = _memory(evidence, worker)
    if memory is None:
        return None
    limit = f" of {format_bytes(worker.memory_limit)}" if worker.memory_limit else ""
    return f"had {format_bytes(memory)}{limit} of memory before"


def _cause(evidence: Evidence, worker: WorkerEnd) -> str | None:
    """What is known of why it died, as a sentence."""
    for event in evidence.events("worker-restarted"):
        is_of_it = event.worker == worker.id and abs(event.time - (worker.ended or 0)) <= REPORTED
        if is_of_it and isinstance(event.detail, dict) and event.detail.get("reason") == "memory":
            return "Its nanny killed it because it used too much memory."
    silent = [one for one in evidence.silences if one.worker == worker.id]
    if silent and abs(silent[-1].stop / 1e6 - (worker.ended or 0)) <= REPORTED:
        seconds = format_duration(silent[-1].seconds)
        return f"It had been silent for {seconds}: the scheduler heard nothing of it."
    memory = _memory(evidence, worker)
    if memory is not None and worker.memory_limit and memory >= NEAR_LIMIT * worker.memory_limit:
        return f"It had used {format_percent(memory / worker.memory_limit)} of its memory."
    return None


KIND = FindingKind(
    title="workers that died",
    advice="Look at the logs and the memory of the worker just before. If it ran out of memory, give workers "
    "more, or make partitions smaller.",
    documentation="https://distributed.dask.org/en/stable/killed.html",
    find=find,
    counts=(ThreadKind.LOST, ThreadKind.RECOMPUTING, ThreadKind.OTHERS),
)
