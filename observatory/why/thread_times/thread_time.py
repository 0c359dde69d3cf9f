"""Where the time of a window's threads went: by worker, by prefix, over time, and what others waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from observatory.why.intervals import (
    NONE,
    Flags,
    Integers,
    Intervals,
    Numbers,
    Steps,
    added,
    distinct_times,
)
from observatory.why.records import Records, RowsByWorker, Spans, Worker
from observatory.why.thread_times.accounting import Demand, WorkerTime, account_for
from observatory.why.thread_times.assignments import (
    Assignments,
    assignments,
    is_repeated,
    stays,
    unfinished,
)
from observatory.why.thread_times.cluster_kinds import ClusterKinds
from observatory.why.thread_times.kinds import KINDS, ThreadKind
from observatory.wire.records import Action

BINS = 120
"""of the window, over time"""
ACTIONS = {
    ThreadKind.DISK: (Action.DISK_READ, Action.DISK_WRITE),
    ThreadKind.SERIALIZATION: (Action.SERIALIZE, Action.DESERIALIZE),
}


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """Times of threads, in seconds."""

    workers: dict[int, WorkerTime]
    cluster: ClusterKinds
    shared: Mapping[ThreadKind, Steps]
    """number of threads of all workers that are of each of the cluster's kinds, all with the same edges"""
    prefixes: dict[int, dict[ThreadKind, float]]
    """figures by task"""
    bins: Integers
    """edges, in microseconds"""
    over_time: dict[ThreadKind, Numbers]
    """seconds of threads in each bin"""
    blamed: Numbers
    """of each computation: seconds for which threads were idle until it finished, with the others that ran"""

    @property
    def seconds(self) -> dict[ThreadKind, float]:
        return {kind: sum(worker.seconds[kind] for worker in self.workers.values()) for kind in KINDS}

    def taken_by(self, worker: int, kind: ThreadKind) -> Steps:
        """Number of threads of a worker that are of a kind."""
        found = self.workers[worker]
        if kind in self.cluster.kinds:
            return self.cluster.part(found.left, kind)
        return found.taken.get(kind, NONE)

    def taken(self) -> dict[ThreadKind, Steps]:
        """Number of threads of each kind, all with the same edges."""
        workers = self.workers.values()
        edges = self.shared[ThreadKind.NOTHING].edges
        if not len(edges):
            return dict.fromkeys(KINDS, NONE)
        changes = {kind: np.zeros(len(edges)) for kind in KINDS if kind not in self.shared}
        for worker in workers:
            places = np.searchsorted(edges, worker.left.edges)  # all kinds of a worker have the same
            for kind, steps in worker.taken.items():
                changes[kind][places] += np.diff(steps.values, prepend=0.0, append=0.0)
        own = {kind: Steps(edges, np.cumsum(change)[:-1]) for kind, change in changes.items()}
        return own | dict(self.shared)


class Accountant:
    """Accounts for the records of a window."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._computing = records.spans.computing
        self._is_repeated = is_repeated(self._computing)
        self.stays = stays(records)
        self.unfinished = unfinished(records, self.stays)
        self._sent = assignments(records, self.stays)
        self._cluster = ClusterKinds.of(records, self.stays, self.unfinished)
        self._rows_computing = RowsByWorker(self._computing.worker)
        self._rows_of_spans = RowsByWorker(records.spans.worker)
        self._rows_sent = RowsByWorker(self._sent.worker)
        self._rows_received = RowsByWorker(records.transfers.worker)

    @property
    def computing(self) -> Spans:
        """What `blamed` is about."""
        return self._computing

    @property
    def sent(self) -> Assignments:
        return self._sent

    def account(self) -> ThreadTime:
        bins = np.linspace(self._records.start, self._records.stop, BINS + 1).astype(np.int64)
        over_time = {kind: np.zeros(BINS) for kind in KINDS}
        workers: dict[int, WorkerTime] = {}
        prefixes: defaultdict[int, dict[ThreadKind, float]] = defaultdict(lambda: dict.fromkeys(KINDS, 0.0))
        for worker in self._records.workers:
            demands, owners = zip(*self._demands(worker), strict=True)
            found = account_for(worker.threads, worker.begun, worker.stop, demands, self._cluster)
            workers[worker.id] = found
            for demand, owner, shares in zip(demands, owners, found.shares, strict=True):
                if owner is not None:
                    for prefix, share in sums_by_prefix(owner, shares):
                        prefixes[prefix][demand.kind] += share / 1e6
            for kind, steps in found.taken.items():
                over_time[kind] += _binned(steps, bins)
        left = added([worker.left for worker in workers.values()])
        shared = self._cluster.parts(left)
        for kind, steps in shared.items():
            over_time[kind] += _binned(steps, bins)
        blamed = self._blamed(shared[ThreadKind.OTHERS])
        return ThreadTime(workers, self._cluster, shared, dict(prefixes), bins, over_time, blamed)

    def _demands(self, worker: Worker) -> Iterator[tuple[Demand, Integers | None]]:
        """Each demand of a worker's own with the prefixes of its tasks; None: it isn't about tasks."""
        places = self._rows_computing(worker.id)
        computing, is_repeated = self._computing.where(places), self._is_repeated[places]
        sent = self._sent.where(self._rows_sent(worker.id))
        received = self._records.transfers.times.where(self._rows_received(worker.id)).union()
        yield _acting(ThreadKind.COMPUTING, computing, ~is_repeated & ~computing.is_error)
        yield _acting(ThreadKind.RECOMPUTING, computing, is_repeated)
        yield _acting(ThreadKind.FAILED, computing, computing.is_error)
        left = self._records.unfinished
        left = left.where(left.worker == worker.id)
        yield _acting(ThreadKind.UNFINISHED, left, np.ones(len(left), np.bool_))
        others = self._records.others
        yield Demand(ThreadKind.OTHER_RUNS, others.times.where(others.worker == worker.id)), None
        pauses = self._records.pauses
        yield Demand(ThreadKind.PAUSED, pauses.times.where(pauses.worker == worker.id), takes_all=True), None
        yield _waiting(ThreadKind.LOST, sent.where(sent.is_lost))
        yield Demand(ThreadKind.STARTING, worker.startup, takes_all=True), None
        spans = self._records.spans.where(self._rows_of_spans(worker.id))
        for kind, actions in ACTIONS.items():
            yield _acting(kind, spans, np.isin(spans.action, actions))
        waits = sent.where(~sent.is_lost)
        yield _waiting(ThreadKind.TRANSFER, waits, during=received)
        yield _waiting(ThreadKind.READY, waits, except_during=received)

    def _blamed(self, waiting: Steps) -> Numbers:
        """Share the idle time of threads that waited for other tasks equally among those that ran.

        Tasks that have seceded wait for others as a rule: they have a share where they alone ran.
        """
        if len(waiting.edges) < 2 or not len(self._computing):
            return np.zeros(len(self._computing))
        window = int(waiting.edges[0]), int(waiting.edges[-1])
        tasks, seceded = self._computing.in_pool.clipped(*window), self._computing.outside.clipped(*window)
        left = self._records.unfinished.times.clipped(*window)
        times = [tasks.start, tasks.stop, seceded.stop, left.start, left.stop]
        edges = distinct_times(waiting.edges, *times)
        values = waiting.at(edges[:-1])
        running, alone = tasks.counts(edges) + left.counts(edges), seceded.counts(edges)
        shares = Steps(edges, values / np.maximum(running, 1))
        of_seceded = Steps(edges, np.where(running == 0, values / np.maximum(alone, 1), 0.0))
        return (shares.integrals(tasks) + of_seceded.integrals(seceded)) / 1e6


def _acting(kind: ThreadKind, spans: Spans, condition: Flags) -> tuple[Demand, Integers]:
    return Demand(kind, spans.in_pool.where(condition)), spans.prefix[condition]


def _waiting(
    kind: ThreadKind,
    sent: Assignments,
    during: Intervals | None = None,
    except_during: Intervals | None = None,
) -> tuple[Demand, Integers]:
    return Demand(kind, sent.waits, during=during, except_during=except_during), sent.prefix


def sums_by_prefix(prefixes: Integers, amounts: Numbers) -> Iterator[tuple[int, float]]:
    found, place = np.unique(prefixes, return_inverse=True)
    yield from zip(found.tolist(), np.bincount(place, amounts, len(found)).tolist(), strict=True)


def _binned(steps: Steps, bins: Integers) -> Numbers:
    if len(steps.edges) < 2:
        return np.zeros(len(bins) - 1)
    return np.asarray(np.diff(np.interp(bins, steps.edges, steps.integral))) / 1e6
