"""Tasks that wait for a thread of an executor that an annotation names, while other threads are idle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from observatory.store.queries.windows.tasks.executors import NamedExecutor
from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.intervals import Integers, distinct_times
from observatory.why.records import Worker
from observatory.why.thread_times.kinds import ThreadKind

DEFAULT = "default"
"""the executor with as many threads as the worker (distributed.Worker.executors)"""


@dataclass(frozen=True, slots=True)
class ExecutorWait:
    name: str
    prefixes: tuple[int, ...]
    workers: tuple[int, ...]
    """that computed fewer of the tasks at once than they have threads"""
    rows: Integers
    """computations of these tasks"""
    at_once: int
    """most of them that one worker computed at once"""
    seconds: float
    """of threads that were idle while tasks of the prefixes had been sent and had not begun"""


def executor_waits(
    found: Computations,
    executors: Sequence[NamedExecutor],
    workers: Sequence[Worker],
    prefixes: Mapping[int, Mapping[ThreadKind, float]],
) -> Iterator[ExecutorWait]:
    """Yield one for each executor that runs fewer tasks at once than its workers have threads.

    `prefixes`: times of threads by prefix, in seconds.
    """
    spans = found.spans
    for name in sorted({one.name for one in executors} - {DEFAULT}):
        groups = [one.group for one in executors if one.name == name]
        rows = np.flatnonzero(np.isin(spans.group, groups))
        most = {one.id: _most_at_once(found, rows[spans.worker[rows] == one.id]) for one in workers}
        narrow = tuple(one.id for one in workers if 0 < most[one.id] < one.threads)
        if narrow:
            of_prefixes = tuple(np.unique(spans.prefix[rows]).tolist())
            seconds = sum(prefixes.get(id, {}).get(ThreadKind.READY, 0.0) for id in of_prefixes)
            at_once = max(most[id] for id in narrow)
            yield ExecutorWait(name, of_prefixes, narrow, rows, at_once, seconds)


def _most_at_once(found: Computations, rows: Integers) -> int:
    times = found.spans.in_pool.where(rows)
    edges = distinct_times(times.start, times.stop)
    return int(times.counts(edges).max()) if len(edges) > 1 else 0
