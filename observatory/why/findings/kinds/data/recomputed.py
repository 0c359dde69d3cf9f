"""Results that were computed again, although no worker died: of the same tasks, or in further graphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.tasks.fused_tasks import FusedAgain, fused_again
from observatory.why.findings.observed.tasks.growing_graphs import GrowingGraphs, growing_graphs
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Flags
from observatory.why.records import values_of
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.without import Shorter, Without

MOST_GRAPHS = 10
"""whose times are facts"""
ADVICE_FOR_GRAPHS = (
    "Keep what the next graph begins from (`x = x.persist()`), or compute all of them by one "
    "`dask.compute(a, b)`. A graph that has more data than the one before takes longer for that reason."
)

ADVICE_FOR_FUSED = (
    "Keep what they begin from (`x = x.persist()`), or compute all of them by one `dask.compute(a, b)`. Only "
    "names tell this: tasks that do the same steps on other data have the same names."
)


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all tasks that were computed again, one for each prefix whose graphs computed the same
    again, and one for each prefix whose steps are fused into later tasks."""
    yield from _same_tasks(evidence)
    for graphs in growing_graphs(evidence.computations, evidence.needed_by):
        yield from _graphs(evidence, graphs)
    for tasks in fused_again(evidence.computations, evidence.names, evidence.needed_by):
        yield from _fused(evidence, tasks)


def _fused(evidence: Evidence, tasks: FusedAgain) -> Iterator[Finding]:
    found, rows = evidence.computations, tasks.rows[~evidence.computations.repeated[tasks.rows]]
    repeated = np.minimum(tasks.seconds, found.durations[rows])
    waited = evidence.waits.waited_for(found.spans.times.where(rows))
    waited *= repeated / np.maximum(found.durations[rows], 1e-6)
    cost = evidence.cost(float((repeated + waited).sum()))
    if not evidence.is_worth(cost):
        return
    name, again = evidence.prefix(tasks.prefix), listed([evidence.prefix(id) for id in tasks.prefixes])
    yield Finding(
        f"{counted(len(rows), 'task')} of {again} computed again what tasks of {name} had: these steps are "
        f"fused into them, and took {format_duration(tasks.seconds)} by themselves.",
        cost,
        facts(("computed again", format_duration(float(repeated.sum())))),
        (evidence.moment("first of them", float(found.spans.times.start[rows].min()) / 1e6),),
        evidence.tasks(rows[np.argsort(-repeated, kind="stable")][:10]),
        prefixes=tasks.prefixes,
        advice=ADVICE_FOR_FUSED,
        without=Without((Shorter(rows, repeated),)),
        parts=(((ThreadKind.COMPUTING, ThreadKind.OTHERS), cost.thread_seconds),),
    )


def _graphs(evidence: Evidence, graphs: GrowingGraphs) -> Iterator[Finding]:
    found, rows, repeated = evidence.computations, graphs.rows, graphs.repeated
    waited = evidence.waits.waited_for(found.spans.times.where(rows))
    waited *= repeated / np.maximum(found.durations[rows], 1e-6)
    cost = evidence.cost(float((repeated + waited).sum()))
    if not evidence.is_worth(cost):
        return
    name, count = evidence.prefix(graphs.prefix), len(graphs.means)
    first, last = format_duration(graphs.means[0]), format_duration(graphs.means[-1])
    yield Finding(
        f"Each of {count:,} graphs computed again what the one before it had: their "
        f"{counted(graphs.tasks, 'task')} of {name} needed no result of it, and took {first} in the first "
        f"graph and {last} in the last, nearly as much longer each time.",
        cost,
        facts(
            ("computed again", format_duration(float(repeated.sum()))),
            ("a task took, in each graph", ", ".join(map(format_duration, graphs.means[:MOST_GRAPHS]))),
        ),
        (evidence.moment("the second graph begins", float(found.spans.times.start[rows].min()) / 1e6),),
        evidence.tasks(rows[np.argsort(-repeated, kind="stable")][:10]),
        prefixes=(graphs.prefix,),
        advice=ADVICE_FOR_GRAPHS,
        without=Without((Shorter(rows, repeated),)),
        parts=(((ThreadKind.COMPUTING, ThreadKind.OTHERS), cost.thread_seconds),),
    )


def _same_tasks(evidence: Evidence) -> Iterator[Finding]:
    found = evidence.computations
    rows = np.flatnonzero(found.repeated & ~_are_lost(evidence))
    waited = evidence.waits.waited_for(found.spans.times.where(rows))
    seconds = found.durations[rows]
    cost = evidence.cost(float((seconds + waited).sum()))
    if not len(rows) or not evidence.is_worth(cost):
        return
    prefixes = np.unique(found.spans.prefix[rows]).tolist()
    sums = {id: float(seconds[found.spans.prefix[rows] == id].sum()) for id in prefixes}
    prefixes.sort(key=lambda id: -sums[id])
    tasks = len(np.unique(found.spans.task[rows]))
    names = f"{evidence.prefix(prefixes[0])}{' and other prefixes' if prefixes[1:] else ''}"
    yield Finding(
        f"{counted(tasks, 'task')} of {names} computed again what had been computed before, "
        f"for {format_duration(float(seconds.sum()))}.",
        cost,
        facts(*((evidence.prefix(id), format_duration(sums[id])) for id in prefixes[:10])),
        (evidence.moment("first of them", float(found.spans.times.start[rows].min()) / 1e6),),
        evidence.tasks(rows[np.argsort(-seconds, kind="stable")][:10]),
        prefixes=tuple(prefixes),
        without=Without((Shorter(rows, seconds),)),
    )


def _are_lost(evidence: Evidence) -> Flags:
    """Whether the worker that had computed each of them before had ended before it was computed again."""
    found = evidence.computations
    never = np.iinfo(np.int64).max
    ended = {id: never if one.ended is None else round(one.ended * 1e6) for id, one in evidence.ends.items()}
    return np.asarray(values_of(found.worker_before, ended, never) <= found.spans.times.start)


KIND = FindingKind(
    title="results that were computed more than once",
    advice="Keep what several computations need: `persist` it, or compute them together with "
    "`dask.compute(a, b)`.",
    documentation="https://docs.dask.org/en/stable/best-practices.html#avoid-calling-compute-repeatedly",
    find=find,
    counts=(ThreadKind.RECOMPUTING, ThreadKind.OTHERS),
)
