"""Accounts for the time of each thread of each worker: each microsecond is in exactly one kind.

A worker with n threads is swept through its lifetime. In each segment between two events of its own, demands
are served in order: a demand of k tasks gets at most k of the threads that are left. What no demand takes is
of the cluster's kind at that time (ClusterKinds). So the kinds add up to the time of all threads, whatever
the records say. Each task of a demand gets an equal share of what the demand gets, by which time is told by
task and by prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from observatory.why.intervals import Flags, Integers, Intervals, Numbers, Steps, distinct_times
from observatory.why.thread_times.cluster_kinds import ClusterKinds
from observatory.why.thread_times.kinds import KINDS, ThreadKind


@dataclass(frozen=True, slots=True)
class Demand:
    """What threads of a worker did or waited for."""

    kind: ThreadKind
    tasks: Intervals
    """each takes up to one thread"""
    takes_all: bool = False
    """any takes all threads that are left"""
    during: Intervals | None = None
    """the demand counts at these times only; separate and in order"""
    except_during: Intervals | None = None


@dataclass(frozen=True, slots=True)
class WorkerTime:
    """Where the time of a worker's threads went."""

    threads: int
    taken: dict[ThreadKind, Steps]
    """number of threads of each kind of its own that took any"""
    left: Steps
    """number of threads that are of the cluster's kinds"""
    shares: list[Numbers]
    """of each demand: what each of its tasks got, in microseconds of a thread"""
    seconds: dict[ThreadKind, float]


def account_for(
    threads: int, start: int, stop: int, demands: Sequence[Demand], cluster: ClusterKinds
) -> WorkerTime:
    """Account for [start, stop) (microseconds) of a worker. `demands` are one of a kind at most, in order."""
    clipped = [demand.tasks.clipped(start, stop) for demand in demands]
    edges = _edges(start, stop, clipped, demands)
    lengths = np.diff(edges)
    left = np.full(len(lengths), threads, np.int64)
    taken: dict[ThreadKind, Steps] = {}
    seconds = dict.fromkeys(KINDS, 0.0)
    shares = []
    for demand, tasks in zip(demands, clipped, strict=True):
        if not len(tasks):
            shares.append(np.zeros(0))
            continue
        counts = np.where(_is_on(demand, edges), tasks.counts(edges), 0)
        got = np.where(counts > 0, left, 0) if demand.takes_all else np.minimum(left, counts)
        left = left - got
        if got.any():
            seconds[demand.kind] = int((got * lengths).sum()) / 1e6
            taken[demand.kind] = Steps(edges, got.astype(np.float64))
        shares.append(Steps(edges, got / np.maximum(counts, 1)).integrals(tasks))
    rest = Steps(edges, left.astype(np.float64))
    return WorkerTime(threads, taken, rest, shares, seconds | cluster.seconds(rest))


def _edges(start: int, stop: int, clipped: Sequence[Intervals], demands: Sequence[Demand]) -> Integers:
    parts = [np.array([start, stop], np.int64)]
    for tasks in clipped:
        parts += [tasks.start, tasks.stop]
    for demand in demands:
        for some in (demand.during, demand.except_during):
            if some is not None:
                parts += [np.clip(some.start, start, stop), np.clip(some.stop, start, stop)]
    return distinct_times(*parts)


def _is_on(demand: Demand, edges: Integers) -> Flags:
    is_on = np.ones(len(edges) - 1, np.bool_)
    if demand.during is not None:
        is_on &= demand.during.covers(edges)
    if demand.except_during is not None:
        is_on &= ~demand.except_during.covers(edges)
    return is_on
