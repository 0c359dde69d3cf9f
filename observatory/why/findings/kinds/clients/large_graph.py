"""Graphs that took long to be sent and unpacked: large objects in them, or very many tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from observatory.clusters.formatting import format_bytes, format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.texts import counted, facts
from observatory.why.intervals import Intervals, joined
from observatory.why.thread_times.kinds import ThreadKind

LARGE = 10_000_000
"""bytes of a graph, from which Dask's client warns as well"""
LONG, FEWEST = 1.0, 10_000
"""seconds in which the scheduler unpacked a graph that is large because of its tasks, and their number

A small graph takes long where the scheduler is busy with something else."""
BANDWIDTH = 100e6
"""bytes per second where no transfer was recorded: what Dask assumes, too"""
MANY = 10_000
"""bytes per task, below which a graph is large because of its tasks"""


@dataclass(frozen=True, slots=True)
class LargeGraph:
    time: float
    """seconds, when its tasks were known to the scheduler"""
    tasks: int
    nbytes: int
    seconds: float
    """in which the scheduler unpacked it"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all large graphs."""
    graphs = [graph for graph in map(_graph, evidence.events("graph-updated")) if graph is not None]
    large = [graph for graph in graphs if _is_large(graph)]
    if not large:
        return
    rate = _bandwidth(evidence)
    before = _during(evidence, [(one.time - one.seconds - one.nbytes / rate, one.time) for one in large])
    after = _during(evidence, [(one.time, _next(graphs, one, evidence.stop / 1e6)) for one in large])
    before = joined([before, _sending(evidence, before)]).union()
    idle = evidence.waits.during(ThreadKind.NOTHING, before)
    begun = evidence.waits.of_kind_during(ThreadKind.READY, dict.fromkeys(evidence.time.workers, after))
    # each task's part of the graph is sent once more, to its worker
    begun = min(begun, evidence.waits.threads * sum(one.nbytes for one in large) / rate)
    cost = evidence.cost(idle + begun)
    if not evidence.is_worth(cost):
        return
    largest = max(large, key=lambda one: (one.nbytes, one.seconds))
    sizes = f"up to {format_bytes(largest.nbytes)}" if len(large) > 1 else format_bytes(largest.nbytes)
    which = "A graph" if len(large) == 1 else f"{len(large):,} graphs"
    yield Finding(
        f"{which} of {sizes} took {format_duration(sum(one.seconds for one in large))} to be unpacked by "
        f"the scheduler. Threads waited {format_duration(idle)} until it was there, and "
        f"{format_duration(begun)} until its tasks began.",
        cost,
        facts(
            ("largest graph", f"{format_bytes(largest.nbytes)}, {counted(largest.tasks, 'task')}"),
            ("of all large graphs", format_bytes(sum(one.nbytes for one in large))),
            ("bandwidth", f"{format_bytes(rate)}/s"),
        ),
        (evidence.moment("the largest is unpacked", largest.time),),
        advice=MANY_TASKS if largest.nbytes < MANY * largest.tasks else "",
    )


def _graph(event: Any) -> LargeGraph | None:
    """None: it has no size, as where no agent recorded it."""
    detail = event.detail if isinstance(event.detail, dict) else {}
    tasks, nbytes, seconds = (detail.get(name) for name in ("tasks", "nbytes", "seconds"))
    if not isinstance(tasks, int) or not isinstance(nbytes, int) or not isinstance(seconds, (int, float)):
        return None
    return LargeGraph(event.time, tasks, nbytes, float(seconds))


def _is_large(graph: LargeGraph) -> bool:
    return graph.nbytes >= LARGE or (graph.seconds >= LONG and graph.tasks >= FEWEST)


def _next(graphs: list[LargeGraph], one: LargeGraph, stop: float) -> float:
    """When the next graph was submitted."""
    return min((graph.time for graph in graphs if graph.time > one.time), default=stop)


def _bandwidth(evidence: Evidence) -> float:
    nbytes, seconds = (sum(getattr(pair, name) for pair in evidence.pairs) for name in ("nbytes", "seconds"))
    return max(nbytes / seconds, BANDWIDTH) if seconds else BANDWIDTH


def _during(evidence: Evidence, times: list[tuple[float, float]]) -> Intervals:
    start, stop = (np.array([round(one[at] * 1e6) for one in times], np.int64) for at in (0, 1))
    return Intervals(start, np.maximum(start, stop)).clipped(evidence.start, evidence.stop).union()


def _sending(evidence: Evidence, before: Intervals) -> Intervals:
    """The times in which a client packed and sent graphs, where it is known: those that overlap `before`."""
    sending = evidence.clients.times[ThreadKind.SENDING].clipped(evidence.start, evidence.stop)
    place = np.searchsorted(before.stop, sending.start, side="right")
    begins = np.append(before.start, np.iinfo(np.int64).max)[place]
    return sending.where(begins < sending.stop)


MANY_TASKS = (
    "Make fewer tasks: larger chunks or partitions, or several items in one call. Submit the graph in parts "
    "if its results are needed in parts."
)
KIND = FindingKind(
    title="large graphs and large objects in them",
    advice="Don't send data with tasks: load it in tasks, or send it once with `client.scatter(…)` and pass "
    "the future. In a `dask.delayed` graph, wrap what several calls take in `dask.delayed(…)` once.",
    documentation="https://docs.dask.org/en/stable/best-practices.html#load-data-with-dask",
    find=find,
    counts=(ThreadKind.NOTHING, ThreadKind.READY, ThreadKind.OTHERS),
)
