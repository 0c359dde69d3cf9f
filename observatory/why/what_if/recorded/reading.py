"""Reads what a window is simulated from, and says where the simulation isn't to be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import psycopg

from observatory.store.queries.windows import findings as samples
from observatory.store.queries.windows import thread_time as store
from observatory.store.queries.windows.other_work import OtherWork
from observatory.store.queries.windows.tasks.required_resources import RequiredResource, required_resources
from observatory.why.reading import read_clients, read_graph, read_records
from observatory.why.records import Graph, Records
from observatory.why.thread_times.assignments import WAITING, Stays, stays, unfinished
from observatory.why.what_if.change import Change, Predictor
from observatory.why.what_if.doubt import FURTHEST
from observatory.why.what_if.recorded.held import held
from observatory.why.what_if.recorded.leases import Leases, read_leases
from observatory.why.what_if.recorded.plan import plan_of
from observatory.why.what_if.recorded.rates import Spilling, Transfers, rates_of, without_spilling
from observatory.why.what_if.recorded.stalls import stalls
from observatory.why.window import TooManyTasks
from observatory.wire.tasks.waits import FILE_LOCK, LOCK

MOST_COMPUTATIONS = 20_000
FEWEST_COMPUTATIONS = 20
UNFINISHED = 0.05
"""of the window, after the last computation"""
WAITED = 0.05
"""of all tasks"""
MOST_TIMES_THE_WORKERS = 4
"""times those that the window had"""
LOCKED = 0.1
"""of the time in which tasks computed"""
SHORT = 10_000
"""microseconds, for which a task may be in the state waiting without a cause"""
CPU = "observatory_scheduler_cpu_percent"
TASK_WAITING = "observatory_worker_task_waits"
MEMORY, SPILLED = "observatory_worker_memory_bytes", "spilled"


class Window:
    """What was recorded of a window."""

    def __init__(
        self,
        records: Records,
        graph: Graph,
        transfers: Transfers,
        scheduler_seconds: float,
        lock_seconds: float = 0.0,
        required: Sequence[RequiredResource] = (),
        leases: Sequence[Leases] = (),
        spilled: Mapping[int, int] | None = None,
    ) -> None:
        """`spilled`: since when each worker had spilled results (microseconds)."""
        self._leases, self._spilled = leases, spilled or {}
        self._records, self._graph, self._required = records, graph, required
        self._transfers, self._scheduler_seconds = transfers, scheduler_seconds
        self._lock_seconds = lock_seconds

    @property
    def has_agent(self) -> bool:
        return self._records.has_agent

    @cached_property
    def predictor(self) -> Predictor | None:
        """None: no agent recorded the window, nothing computed in it, or no worker's threads are known."""
        records = self._records
        count = len(records.spans.computing)
        if not (count and self.has_agent and any(worker.threads for worker in records.workers)):
            return None
        if count > MOST_COMPUTATIONS:
            raise TooManyTasks(f"{MOST_COMPUTATIONS:,} computations, which is too many to simulate")
        plan = plan_of(records, self._graph, self._required)
        rates = rates_of(records, plan, self._stays, self._transfers, self._scheduler_seconds)
        return Predictor(
            self._records,
            plan,
            rates,
            self._lock_seconds,
            stalls(records, plan.computing, self._stays),
            held(records, plan.computing, self._stays),
            self._leases,
            Spilling(without_spilling(rates, records, plan, self._stays, self._spilled), self._spilled),
        )

    @property
    def is_known(self) -> bool:
        """Whether all that matters for a simulation was recorded, and nothing that isn't simulated."""
        has_unknown_needs = bool(len(self._graph.needing_group)) and not len(self._graph.task)
        return not (
            has_unknown_needs
            or (not len(self._graph) and self._have_waited)
            or len(self._records.others.worker)
            or self._is_unfinished
        )

    @cached_property
    def _is_unfinished(self) -> bool:
        """Whether tasks were left for long after the last computation: what didn't finish has none."""
        predictor, stop = self.predictor, self._records.stop
        if predictor is None:
            return False
        last = self._records.start + round(predictor.last * 1e6)
        left = unfinished(self._records, self._stays).clipped(last, stop)
        return left.union().seconds > UNFINISHED * predictor.observed

    @cached_property
    def _stays(self) -> Stays:
        return stays(self._records)

    @property
    def _have_waited(self) -> bool:
        """Whether tasks were in the state waiting, in which those that need nothing don't stay."""
        known = self._stays
        waited = known.where((known.state == WAITING) & (known.times.start > self._records.start)).times
        return len(waited) > 0 and bool(np.mean(waited.stop - waited.start > SHORT) > WAITED)

    def doubts(self, change: Change | None = None) -> list[str]:
        """Why the prediction isn't to be trusted, in sentences."""
        predictor = self.predictor
        if predictor is None:
            return []
        found = []
        if len(predictor.plan) < FEWEST_COMPUTATIONS:
            found.append(f"Only {len(predictor.plan)} tasks computed.")
        if len(self._graph.needing_group) and not len(self._graph.task):
            found.append("Dependencies were recorded between groups of tasks, and not between tasks.")
        elif not len(self._graph) and self._have_waited:
            found.append("Tasks waited for others, and it was not recorded for which.")
        if len(self._records.others.worker):
            found.append("Tasks of other runs took threads, which isn't simulated.")
        if predictor.locked >= LOCKED:
            found.append(
                f"Tasks waited for locks, maybe Python's own, for {predictor.locked:.0%} of the time in "
                "which they computed: what is different may save much less."
            )
        if self._is_unfinished:
            found.append("Tasks that did not finish in the window aren't simulated.")
        if set(np.flatnonzero(predictor.plan.seconds_outside).tolist()) - predictor.plan.rests.keys():
            found.append("Tasks seceded; the simulation lets them run on for as long as they did.")
        off = predictor.misfit
        if abs(off) > FURTHEST:
            than = "longer" if off > 0 else "shorter"
            found.append(
                f"Without any change, the simulation takes {abs(off):.0%} {than} than the window did."
            )
        if change and (change.workers or 0) > MOST_TIMES_THE_WORKERS * len(predictor.recorded_workers):
            found.append("That is over four times the workers that the window had.")
        return found


def trusted_predictor(window: Window) -> Predictor | None:
    """Return what predicts a window; None: it isn't known well enough, or its simulation is too far off."""
    try:
        predictor = window.predictor
    except TooManyTasks:
        return None
    if predictor is None or not window.is_known or abs(predictor.misfit) > FURTHEST:
        return None
    return predictor


def read_window(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, others: OtherWork
) -> Window:
    """Read [start, stop) (microseconds)."""
    records = read_records(connection, cluster, start, stop, others)
    clients = read_clients(connection, cluster, start, stop, others)
    return window_of(connection, cluster, replace(records, clients=clients))


def window_of(connection: psycopg.Connection, cluster: int, records: Records) -> Window:
    """Read what `records` lack."""
    window = records.start, records.stop
    transfers = store.transfers(connection, cluster, *window)
    return Window(
        records,
        read_graph(connection, cluster, records),
        Transfers(transfers["nbytes"], transfers["seconds"]),
        _scheduler_seconds(connection, cluster, *window),
        _lock_seconds(connection, cluster, *window),
        _required(connection, cluster, records),
        read_leases(connection, cluster, records),
        _spilled(connection, cluster, *window),
    )


def _spilled(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> dict[int, int]:
    """Since when each worker had spilled results (microseconds)."""
    found = samples.binned_series(connection, cluster, MEMORY, start, stop, SPILLED, "max")
    is_some = found["value"] > 0
    workers, bins = found["worker"][is_some], found["bin"][is_some]
    width = (stop - start) / samples.BINS
    return {id: start + round(int(bins[workers == id].min()) * width) for id in np.unique(workers).tolist()}


def _required(connection: psycopg.Connection, cluster: int, records: Records) -> Sequence[RequiredResource]:
    """What tasks require of their workers; nothing, where there are too many to simulate."""
    groups = records.spans.computing.group
    if len(groups) > MOST_COMPUTATIONS:
        return ()
    found = np.unique(groups).tolist()
    return required_resources(connection, cluster, found, records.stop, MOST_COMPUTATIONS)


def _scheduler_seconds(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> float:
    """Seconds of CPU that the scheduler used in the window; 0: that isn't known."""
    found = samples.binned_series(connection, cluster, CPU, start, stop, "", "mean")["value"]
    return float(found.mean()) / 100 * (stop - start) / 1e6 if len(found) else 0.0


def _lock_seconds(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> float:
    """Seconds of threads whose tasks waited for locks, as far as samples saw them."""
    width = (stop - start) / samples.BINS / 1e6
    found = 0.0
    for wait in (LOCK, FILE_LOCK):
        series = samples.binned_series(connection, cluster, TASK_WAITING, start, stop, wait, "mean", "in")
        for worker in np.unique(series["worker"]).tolist():
            own = series["worker"] == worker
            # bins between two samples have none
            bins = int(np.ptp(series["bin"][own])) + 1
            found += float(series["value"][own].mean()) * bins * width
    return found
