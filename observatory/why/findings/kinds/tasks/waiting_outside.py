"""Tasks that keep threads while they wait for something outside of Dask: I/O, a service, a database."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.tasks.nested_tasks import ADVICE as ADVICE_FOR_NESTED
from observatory.why.findings.observed.tasks.waiting_tasks import LISTED, WaitingTasks
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Steps, distinct_times
from observatory.why.thread_times.kinds import FINISHED
from observatory.why.what_if.without import Without
from observatory.wire.tasks.waits import CONNECTION, FILE, FILE_LOCK, LOCK, OTHER, PROCESS, SLEEP

LEAST_SHARE = 0.1
"""of the time of threads while there was something to do"""
NAMED_SHARE = 0.1
"""of the waiting, from which a prefix is named"""
MOST_OF_STRAGGLERS = 0.5
"""of the waiting: where more of it is of stragglers, as of requests that time out, these are the finding"""
WAITED_FOR = {
    LOCK: "locks, conditions and queues of their process",
    SLEEP: "a time that they had set (sleep)",
    CONNECTION: "the network or a pipe",
    FILE: "files",
    FILE_LOCK: "locks of files",
    PROCESS: "other processes",
    OTHER: "the operating system",
}


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for tasks that waited for others that they had submitted, one for all others that waited,
    while further ones had no thread."""
    yield from _nested(evidence)
    yield from _outside(evidence)


def _nested(evidence: Evidence) -> Iterator[Finding]:
    found, nested = evidence.computations, evidence.nested
    rows = np.flatnonzero(nested.lengths)
    if not len(rows):
        return
    kept, line = nested.where(rows), evidence.in_line
    edges = distinct_times(kept.start, kept.stop, line.start, line.stop)
    seconds = Steps(edges, np.minimum(kept.counts(edges), line.counts(edges))).seconds
    cost = evidence.cost(seconds)
    if seconds < LEAST_SHARE * evidence.waits.active or not evidence.is_worth(cost):
        return
    prefixes = np.unique(found.spans.prefix[rows]).tolist()
    longest = rows[np.argsort(-nested.lengths[rows], kind="stable")][:LISTED]
    yield Finding(
        f"{counted(len(rows), 'task')} of {listed([evidence.prefix(id) for id in prefixes])} kept threads "
        f"for {format_duration(kept.seconds)} and waited for results of tasks that they had submitted, "
        f"while tasks waited for a thread.",
        cost,
        facts(
            ("while other tasks waited for a thread", format_duration(seconds)),
            ("threads that they kept, at most", f"{kept.counts(edges).max():,}"),
            ("threads", f"{evidence.waits.most_threads:.0f}"),
        ),
        (evidence.moment("the longest wait begins", float(nested.start[longest[0]]) / 1e6),),
        evidence.tasks(longest),
        prefixes=tuple(prefixes),
        advice=ADVICE_FOR_NESTED,
        without=Without(seceded=nested.start),
    )


def _outside(evidence: Evidence) -> Iterator[Finding]:
    waiting = evidence.waiting_tasks
    seconds = waiting.needed
    cost = evidence.cost(seconds)
    if seconds < LEAST_SHARE * evidence.waits.active or not evidence.is_worth(cost):
        return
    waited = waiting.of_rows()
    if waited[evidence.stragglers].sum() > MOST_OF_STRAGGLERS * waited.sum():
        return
    by_prefix, by_wait = waiting.by_prefix(), waiting.seconds_by_wait
    prefixes = [id for id in by_prefix if by_prefix[id] >= NAMED_SHARE * sum(by_prefix.values())]
    threads, would_do = round(evidence.waits.most_threads), _threads_that_would_do(evidence, waiting)
    code = evidence.code.of_tasks(*prefixes)
    where = f", most often in {code[0]}" if code else ""
    what = WAITED_FOR[next(iter(by_wait))] if by_wait else "something outside of Dask"
    yield Finding(
        f"Tasks of {listed([evidence.prefix(id) for id in prefixes])} kept threads for "
        f"{format_duration(waiting.waiting.seconds)} without using the CPU: they waited for {what}{where}. "
        f"Meanwhile other tasks waited for a thread: {would_do:,} threads would have had work, there were "
        f"{threads:,}.",
        cost,
        facts(
            ("while other tasks waited for a thread", format_duration(seconds)),
            ("CPU that such a task used", f"{format_percent(waiting.used)} of a core"),
            ("threads", f"{threads:,}"),
            ("threads that would have had work", f"{would_do:,}"),
            *((f"waited for {WAITED_FOR[wait]}", format_duration(by_wait[wait])) for wait in by_wait),
            ("code in which they were seen", ", ".join(code)),
        ),
        (evidence.moment("the longest of them begins", _first(evidence, waiting)),),
        evidence.tasks(waiting.longest()),
        prefixes=tuple(prefixes),
        without=Without(threads=_threads_of_worker(evidence, would_do)),
    )


def _threads_that_would_do(evidence: Evidence, waiting: WaitingTasks) -> int:
    """For all tasks that could run at once, but not more than would use a core for each thread there was."""
    threads = evidence.waits.most_threads
    return round(max(threads, min(waiting.most_at_once, threads / max(waiting.used, 0.01))))


def _threads_of_worker(evidence: Evidence, threads: int) -> int:
    """Of each worker, for `threads` in all."""
    slots = {worker.slot for worker in evidence.records.workers if worker.threads}
    return math.ceil(threads / max(len(slots), 1))


def _first(evidence: Evidence, waiting: WaitingTasks) -> float:
    return float(evidence.computations.spans.times.start[waiting.longest()[0]]) / 1e6


KIND = FindingKind(
    title="tasks that wait for something outside",
    advice="Give workers more threads (`threads_per_worker=…`, `dask worker --nthreads`): they cost little "
    "while they wait. Ask for more at once in a task, or write it as a coroutine. See whether what they "
    "wait for answers as fast when more ask at once.",
    documentation="https://docs.dask.org/en/stable/best-practices.html",
    find=find,
    counts=FINISHED,
    explained_by=("gil", "serialized"),
)
