"""The workers of a run by a label, and what those with one of its values did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum

import psycopg

from observatory.comparison.run_summary import MOST_TASKS, PrefixSummary, RunWindow, TooLarge, by_prefix
from observatory.store.queries.windows.comparison import WORKER_MEMORY, prefix_names, window_spans
from observatory.store.queries.windows.workers.environment import WorkerSpec
from observatory.store.queries.windows.workers.existence import WorkerExistence, worker_existence
from observatory.store.queries.windows.workers.worker_groups import (
    CPU,
    GIL,
    GroupWork,
    WorkerUse,
    group_work,
    lanes_of_workers,
    worker_use,
)
from observatory.store.workers.tags import HOST, group_of, tags_of

MOST_VALUES = 100
"""of a label that are listed"""


class UnknownGroup(ValueError):
    """No worker of the run has the label or the value; the message names it and what there is."""


@dataclass(frozen=True, slots=True)
class LabelValue:
    value: str
    workers: int


@dataclass(frozen=True, slots=True)
class WorkerLabel:
    name: str
    values: list[LabelValue]
    """those with most workers first, at most MOST_VALUES"""
    more_values: int

    @property
    def differs(self) -> bool:
        return len(self.values) > 1


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """The workers with one value of a label in a window."""

    value: str
    workers: list[WorkerSpec]
    existence: WorkerExistence
    work: GroupWork
    use: list[WorkerUse]
    prefixes: dict[str, PrefixSummary]


def values_of(workers: Iterable[WorkerSpec], name: str) -> dict[str, list[WorkerSpec]]:
    """The workers by their value of a label; those without it have the value UNKNOWN."""
    found: dict[str, list[WorkerSpec]] = {}
    for worker in workers:
        value = group_of(tags_of(worker.resources, worker.detail), worker.host, name)
        found.setdefault(value, []).append(worker)
    return found


def labels_of(workers: Sequence[WorkerSpec]) -> list[WorkerLabel]:
    """The labels of a run's workers by name: those that differ first."""
    tags = [tags_of(worker.resources, worker.detail) for worker in workers]
    names = {name for each in tags for name in each} | {HOST}
    labels = []
    for name in names:
        of_slots = {
            (group_of(each, worker.host, name), worker.slot)
            for each, worker in zip(tags, workers, strict=True)
        }
        counts = Counter(value for value, _ in of_slots)
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        values = [LabelValue(value, count) for value, count in ordered[:MOST_VALUES]]
        labels.append(WorkerLabel(name, values, len(ordered[MOST_VALUES:])))
    return sorted(labels, key=lambda label: (not label.differs, label.name == HOST, label.name))


def group_named(workers: Sequence[WorkerSpec], label: str, value: str) -> list[WorkerSpec]:
    """Raises UnknownGroup."""
    groups = values_of(workers, label)
    if value in groups:
        return groups[value]
    shown = ", ".join(repr(each) for each in sorted(groups)[:10])
    there = f"its values are {shown}" if groups else "no worker was recorded in it"
    raise UnknownGroup(f"No worker of this run has {value!r} as {label!r}: {there}.")


def summarize_group(
    connection: psycopg.Connection, window: RunWindow, value: str, workers: list[WorkerSpec]
) -> WorkerGroup:
    """Raises TooLarge."""
    within = window.cluster, window.start, window.stop
    ids = [worker.id for worker in workers]
    lanes = lanes_of_workers(connection, window.cluster, ids)
    work = group_work(connection, *within, ids, lanes)
    if work.tasks > MOST_TASKS:
        raise TooLarge(
            f"The workers with {value!r} ran {work.tasks:,} tasks; at most {MOST_TASKS:,} can be compared."
        )
    spans = window_spans(connection, *within, lanes)
    return WorkerGroup(
        value,
        workers,
        worker_existence(connection, *within, ids),
        work,
        worker_use(connection, *within, ids),
        by_prefix(spans, prefix_names(connection, window.cluster)),
    )


def mean_memory(group: WorkerGroup) -> float | None:
    """Bytes of the process of a worker: the mean of the workers' means."""
    means = [use.mean for use in group.use if (use.metric, use.type) == (WORKER_MEMORY, "process")]
    return fsum(means) / len(means) if means else None


def greatest_memory(group: WorkerGroup, type: str) -> float | None:
    """The most bytes of any of the workers."""
    return max(
        (use.greatest for use in group.use if (use.metric, use.type) == (WORKER_MEMORY, type)), default=None
    )


def used_share_of_limits(group: WorkerGroup) -> float | None:
    """The share of their memory limits that workers with a limit used in the mean."""
    limits = {worker.id: worker.memory_limit for worker in group.workers}
    return _ratio(
        (use.mean, limits[use.worker])
        for use in group.use
        if (use.metric, use.type) == (WORKER_MEMORY, "process") and limits[use.worker]
    )


def used_share_of_cpu(group: WorkerGroup) -> float | None:
    """CPU time of the processes as a share of what their threads could use, a core each."""
    threads = {worker.id: worker.nthreads for worker in group.workers}
    return _ratio((use.mean / 100, threads[use.worker]) for use in group.use if use.metric == CPU)


def gil_share(group: WorkerGroup) -> float | None:
    """The share of time in which a worker's threads waited for the GIL: the mean of the workers."""
    return _ratio((use.mean, 1) for use in group.use if use.metric == GIL)


def _ratio(pairs: Iterable[tuple[float, float]]) -> float | None:
    known = list(pairs)
    whole = fsum(whole for _, whole in known)
    return fsum(part for part, _ in known) / whole if whole else None
