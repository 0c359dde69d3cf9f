"""The work of a window, without the workers on which it was done: what is simulated on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from observatory.store.queries.windows.tasks.required_resources import RequiredResource
from observatory.why.critical_path.predecessors import NONE, Predecessors, needed_computations, previous_of
from observatory.why.intervals import Flags, Integers, Numbers
from observatory.why.records import Graph, Records, Spans
from observatory.why.thread_times.assignments import QUEUED
from observatory.why.what_if.recorded.reactions import Rest, rests
from observatory.why.what_if.recorded.required import required_by
from observatory.why.what_if.recorded.submissions import Submission, most_unfinished, submissions, submitted
from observatory.why.what_if.simulation.workers import Amounts
from observatory.wire.records import Action

STORED = (Action.DISK_READ, Action.DISK_WRITE)


@dataclass(frozen=True, slots=True)
class Plan:
    """The computations of a window, each at one place of all columns, in the order in which they began."""

    computing: Spans
    rows: Integers
    """the place of each among the computations of the records"""
    needed: Predecessors
    """computations whose results each needs, and its own attempts before it"""
    seconds: Numbers
    """that each computed in a thread of its worker"""
    seconds_outside: Numbers
    """that it ran on after it had seceded"""
    rests: dict[int, Rest]
    """how those of them end that waited for others"""
    disk_seconds: Numbers
    """in which spilled data was read or written for it"""
    is_queued: Flags
    """of a group of many tasks that need little: the scheduler keeps them until a worker has room"""
    required: Mapping[int, Amounts]
    """of resources of their worker, by the places of those that require any"""
    submitted: Integers
    """when the task of each computation was submitted (microseconds)"""
    submissions: list[Submission]
    most_unfinished: int
    """tasks that were submitted and had not ended, once any were submitted; one for each thread at least"""
    needs: list[list[int]]
    """`needed`, by computation"""
    dependents: list[list[int]]
    """the computations that need each one"""

    def __len__(self) -> int:
        return len(self.computing)

    def shortened(self, saved: Numbers) -> Plan:
        """As if each computation had taken some seconds less: of its thread, then of what it does without
        one."""
        seconds = np.maximum(self.seconds - saved, 0.0)
        outside = self.seconds_outside - np.maximum(saved - self.seconds, 0.0)
        return replace(self, seconds=seconds, seconds_outside=outside)

    def with_seceded(self, seceded: Integers) -> Plan:
        """As if computations had left their threads at these times, by rows of the records, to wait for
        tasks that they had submitted."""
        earlier = np.minimum(self.computing.seceded, seceded[self.rows])
        are_waiting = earlier < self.computing.seceded
        computing = replace(self.computing, seceded=np.maximum(earlier, self.computing.times.start))
        return replace(
            self,
            computing=computing,
            seconds=computing.in_pool.lengths / 1e6,
            seconds_outside=computing.outside.lengths / 1e6,
            rests=rests(computing, self.submitted, are_waiting),
        )


def plan_of(records: Records, graph: Graph, known: Sequence[RequiredResource] = ()) -> Plan:
    """Return the plan of all computations, also of attempts that failed. `known`: what tasks require."""
    computing = records.spans.computing
    window = records.start, records.stop
    seceded = np.clip(computing.seceded, *window)
    computing = replace(computing, times=computing.times.clipped(*window), seceded=seceded)
    rows = np.argsort(computing.times.start, kind="stable")
    computing = computing.where(rows)
    error = records.clock_errors_of(computing.worker)
    needed = _with_attempts(computing, needed_computations(computing, graph, error))
    dependents = Predecessors.of_edges(needed.places, needed.needing, len(computing))
    threads = sum(worker.threads for worker in records.workers)
    times = submitted(computing, needed, records)
    found = submissions(computing, times, records)
    required = required_by(computing.task, known)
    were_queued = np.isin(computing.task, records.transitions.task[records.transitions.finish == QUEUED])
    is_queued = _is_queued(computing, needed, _rounds(found, len(computing)), threads, were_queued)
    is_queued[list(required)] = False
    return Plan(
        computing,
        rows,
        needed,
        computing.in_pool.lengths / 1e6,
        computing.outside.lengths / 1e6,
        rests(computing, times),
        _disk_seconds(records.spans, computing),
        is_queued,
        required,
        times,
        found,
        max(threads, most_unfinished(found, computing, times)),
        _by_computation(needed),
        _by_computation(dependents),
    )


def mean_of_prefix(computing: Spans, seconds: Sequence[float]) -> list[float]:
    """Of each computation the mean of its prefix: what the scheduler expects, as it knows no more."""
    _, code = np.unique(computing.prefix, return_inverse=True)
    counts = np.maximum(np.bincount(code, minlength=1), 1)
    means = np.bincount(code, weights=np.array(seconds), minlength=1) / counts
    found: list[float] = means[code].tolist()
    return found


def _by_computation(edges: Predecessors) -> list[list[int]]:
    return [edges.of(place).tolist() for place in range(len(edges.first) - 1)]


def _with_attempts(computing: Spans, needed: Predecessors) -> Predecessors:
    """A computation of a task that failed before needs that attempt."""
    before = previous_of(computing.task, computing.times.start)
    again = np.flatnonzero((before != NONE) & computing.is_error[before])
    needing = np.concatenate([needed.needing, again])
    return Predecessors.of_edges(needing, np.concatenate([needed.places, before[again]]), len(computing))


def _disk_seconds(spans: Spans, computing: Spans) -> Numbers:
    """Of each computation, those since the computation of its task before it."""
    stored = spans.where(np.isin(spans.action, STORED))
    found = np.zeros(len(computing))
    if not len(stored) or not len(computing):
        return found
    order = np.lexsort((computing.times.start, computing.task))
    tasks, starts = computing.task[order], computing.times.start[order]
    for task, start, stop in zip(
        stored.task.tolist(), stored.times.start.tolist(), stored.times.stop.tolist(), strict=True
    ):
        first, last = np.searchsorted(tasks, [task, task + 1]).tolist()
        place = first + int(np.searchsorted(starts[first:last], start))
        if place < last:
            found[order[place]] += (stop - start) / 1e6
    return found


def _rounds(submitted: Sequence[Submission], count: int) -> Integers:
    """Of each computation: how often the client had waited for all tasks before it submitted this one."""
    found = np.zeros(count, np.int64)
    number = 0
    for submission in submitted:
        number += submission.waits
        found[submission.places] = number
    return found


def _is_queued(
    computing: Spans, needed: Predecessors, rounds: Integers, threads: int, were_queued: Flags
) -> Flags:
    """SchedulerState.is_rootish: over twice as many tasks as threads, which together need fewer than five;
    or tasks that read data, of which it is known where any was queued.

    The scheduler forgets a group of which nobody needs any task, and a round has a new one of the same name.
    """
    _, code = np.unique(np.stack([computing.group, rounds]), axis=1, return_inverse=True)
    tasks: Integers = np.unique(np.stack([code, computing.task]), axis=1)  # each once, however often it ran
    counts = np.bincount(tasks[0])
    pairs: Integers = np.unique(np.stack([code[needed.needing], computing.task[needed.places]]), axis=1)
    needs = np.bincount(pairs[0], minlength=len(counts))
    is_rootish: Flags = (counts > 2 * threads) & (needs < 5)
    is_rootish[code[were_queued]] = True
    return is_rootish[code]
