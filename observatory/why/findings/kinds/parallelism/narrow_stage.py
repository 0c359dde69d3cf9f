"""Parts of a window in which few tasks ran at once, although there were threads: serial tails, merges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.late_submissions import waits_for_client
from observatory.why.findings.texts import facts, listed
from observatory.why.intervals import Integers, Intervals, Numbers, distinct_times, joined
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.without import Shorter, Without

MOST_SHARE = 0.4
"""of the threads, that are in use in a narrow stage"""
GAP, SHORTEST = 200_000, 500_000
"""microseconds: between two parts of a stage; of a stage"""
LEAST_IDLE = 0.15
"""share of the time of threads in which there was something to do, that waited in narrow stages"""
MOST_PREFIXES = 3


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all narrow stages."""
    waits = evidence.waits
    least = LEAST_IDLE * waits.active
    if waits.seconds[ThreadKind.OTHERS] < least:  # in the stages, it is no more
        return
    stages = _stages(evidence)
    idle = waits.during(ThreadKind.OTHERS, stages)
    cost = evidence.cost(idle)
    if idle < least or not evidence.is_worth(cost):
        return
    found = evidence.computations
    overlap = _overlaps(found.spans.times, stages)
    rows = np.flatnonzero(overlap > 0)
    if not len(rows):  # what was lost with a worker kept its threads
        return
    prefixes = np.unique(found.spans.prefix[rows])
    seconds = {id: float(overlap[found.spans.prefix == id].sum()) for id in prefixes.tolist()}
    most = sorted(seconds, key=lambda id: -seconds[id])[:MOST_PREFIXES]
    length = stages.seconds
    used = sum(seconds.values()) / length
    longest = rows[np.argsort(-overlap[rows], kind="stable")][:10]
    first = int(np.argmax(stages.stop - stages.start))
    yield Finding(
        f"For {format_duration(length)} there was work for {used:.1f} of {waits.most_threads:.0f} threads on "
        f"average, of {listed([evidence.prefix(id) for id in most])}: the other threads were idle for "
        f"{format_duration(idle)}, because what was left depended on it.",
        cost,
        facts(
            ("threads", f"{waits.most_threads:.0f}"),
            ("in use on average then", f"{used:.1f}"),
            ("share of the window", format_percent(length * 1e6 / (evidence.stop - evidence.start))),
            ("such parts of the window", f"{len(stages):,}"),
            ("tasks that ran then", f"{len(rows):,}"),
        ),
        (evidence.moment("the longest part begins", float(stages.start[first]) / 1e6),),
        evidence.tasks(longest),
        prefixes=tuple(most),
        # with enough tasks for all threads, the work of these parts is divided by them
        without=Without((Shorter(rows, overlap[rows] * max(0.0, 1 - used / waits.most_threads)),)),
    )


def _stages(evidence: Evidence) -> Intervals:
    """The parts of the window in which there was work for few threads, and others waited for them."""
    in_use, idle = evidence.waits.in_use, evidence.waits.taken[ThreadKind.OTHERS]
    if len(in_use.edges) < 2:
        return Intervals.none()
    # tasks that wait for a busy worker could have run on others: soon, unless they pile up there
    work = np.maximum(in_use.values, _tasks(evidence, in_use.edges))
    is_narrow = (idle.values > 0) & (in_use.values > 0) & (work <= MOST_SHARE * evidence.waits.all.values)
    parts = Intervals(in_use.edges[:-1][is_narrow], in_use.edges[1:][is_narrow])
    stages = parts.joined(GAP).without(waits_for_client(evidence))
    return stages.where(stages.stop - stages.start >= SHORTEST)


def _tasks(evidence: Evidence, edges: Integers) -> Numbers:
    """How many tasks computed or waited on their worker, at most, from each edge to the next."""
    sent = evidence.sent
    waits = sent.waits.where(~evidence.piles.holds(sent.worker, sent.waits))
    times = joined([evidence.computations.spans.times, waits])
    every = distinct_times(edges, times.start, times.stop)
    counts = times.counts(every)
    begins = np.searchsorted(every, edges)
    return np.asarray(np.maximum.reduceat(counts, begins[:-1]), np.float64)


def _overlaps(times: Intervals, stages: Intervals) -> Numbers:
    """Seconds of each time that are in the stages."""
    edges = distinct_times(stages.start, stages.stop, times.start, times.stop)
    is_in = stages.covers(edges).astype(np.float64)
    until = np.concatenate([[0.0], np.cumsum(is_in * np.diff(edges))]) / 1e6
    return np.asarray(np.interp(times.stop, edges, until) - np.interp(times.start, edges, until))


KIND = FindingKind(
    title="serial tails and narrow stages",
    advice="Split what runs there: reduce in a tree (`split_every`), merge by partitions, or write results "
    "from the tasks that made them. What can begin earlier should not depend on all of the stage before.",
    documentation="https://docs.dask.org/en/stable/best-practices.html",
    find=find,
    counts=(ThreadKind.OTHERS,),
    explained_by=("few-tasks", "stragglers", "small-tasks", "slow-worker", "piled-tasks", "rechunk"),
)
