"""The samples of workers' heartbeats and of the cluster's counts, under our own names (docs/metrics.md).

A heartbeat is stored once, at its time on the scheduler's clock: the worker's own time plus the least delay
that was ever seen between its measuring and the heartbeat's arrival. While identity.json fails
(workers_page.py), memory, CPU, the event loop and the GIL come from the workers' /metrics under the same
names; what an agent tells of the scheduler comes from the scheduler's.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from observatory.collect.scheduler.identity import Counts, Identity, WorkerIdentity
from observatory.wire.records import MetricType, Series

Emit = Callable[[Series, float, float], None]
Name = tuple[str, str, str]

SAME = 0.15
"""seconds by which the workers' page can tell the same heartbeat's time differently"""
STALE = 3.0
"""seconds without a heartbeat told in full after which /metrics stands in"""
MEMORY = "observatory_worker_memory_bytes"
STATES = {
    "waiting": "waiting",
    "processing": "processing",
    "memory": "memory",
    "erred": "erred",
    "released": "released",
    "unrunnable": "no-worker",
}
FINISHED = ("memory", "erred")
"""the states that a task finishes in"""
SPENT = {
    "dask_scheduler_tasks_compute_seconds_total": "compute",
    "dask_scheduler_tasks_transfer_seconds_total": "transfer",
}

LOADS: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "process_cpu_seconds_total": ("cpu_percent", lambda seconds, used: 100 * used / seconds),
    "dask_{}_gil_contention_seconds_total": (
        "gil_contention_ratio",
        lambda seconds, waited: waited / seconds,
    ),
    "dask_{}_tick_count_total": (
        "event_loop_interval_seconds",
        lambda seconds, ticks: seconds / max(1.0, ticks),
    ),
}
"""what a counter says of a process's load, by the seconds since it was told before and how much it grew"""


class LoadCounters:
    """Follows the counters of a process that say its load; `role` is worker or scheduler."""

    def __init__(self, role: str) -> None:
        self.loads = {
            counter.format(role): (f"observatory_{role}_{metric}", load)
            for counter, (metric, load) in LOADS.items()
        }
        self.told: dict[str, tuple[float, float]] = {}

    def load(self, counter: str, moment: float, value: float) -> tuple[str, float] | None:
        """(metric, value); None while it isn't known, or where the counter says nothing of the load."""
        known = self.loads.get(counter)
        if known is None:
            return None
        before, self.told[counter] = self.told.get(counter), (moment, value)
        if before is None or moment <= before[0] or not value >= before[1]:
            return None
        metric, load = known
        return metric, load(moment - before[0], value - before[1])


@dataclass(slots=True)
class HeartbeatState:
    """What is remembered of one worker."""

    measured: float = 0.0
    delay: float = float("inf")
    told: float = -STALE
    """when a heartbeat was told in full, monotonic"""
    memory: dict[str, float] = field(default_factory=dict)
    growth: LoadCounters = field(default_factory=lambda: LoadCounters("worker"))


class Heartbeats:
    """Emits (series, time, value). Times are on the scheduler's clock."""

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.states: dict[str, HeartbeatState] = {}
        self.series: dict[tuple[str, Name], Series] = {}
        self.growth = LoadCounters("scheduler")

    def listed(self, identity: Identity) -> None:
        for worker in identity.workers.values():
            self._heartbeat(worker, told_in_full=bool(identity.scheduler_id))
        for address in self.states.keys() - identity.workers.keys():
            self.forget(address)

    def forget(self, address: str) -> None:
        self.states.pop(address, None)
        self.series = {key: series for key, series in self.series.items() if key[0] != address}

    def _heartbeat(self, worker: WorkerIdentity, told_in_full: bool) -> None:
        heartbeat = worker.heartbeat
        state = self.states.setdefault(worker.address, HeartbeatState())
        if heartbeat is None:
            return
        if told_in_full:
            state.told = time.monotonic()
            if heartbeat.time == state.measured:
                return
            state.measured = heartbeat.time
            state.delay = min(state.delay, worker.last_seen - heartbeat.time)
            moment = heartbeat.time + state.delay
        else:
            moment = heartbeat.time
            if abs(moment - state.measured) < SAME:
                return
            state.measured = moment
        for name, value in heartbeat.values.items():
            if name[0] == MEMORY:
                state.memory[name[2]] = value
            self._emit(worker.address, name, moment, value)

    def scraped(self, address: str, samples: Iterable[tuple[Series, float]], moment: float) -> None:
        """A worker's /metrics: stands in for its heartbeat while that isn't told."""
        state = self.states.get(address)
        if state is None:
            return
        stands_in = time.monotonic() - state.told >= STALE
        for series, value in samples:
            load = state.growth.load(series.metric, moment, value)
            if not stands_in:
                continue
            if load is not None:
                self._emit(address, (load[0], "", ""), moment, load[1])
            elif series.metric == "dask_worker_memory_bytes":
                kind = dict(series.labels).get("type", "")
                if kind in {"managed", "unmanaged", "spilled"}:
                    state.memory[kind] = value
                    self._emit(address, (MEMORY, "type", kind), moment, value)
            elif series.metric == "process_open_fds":
                self._emit(address, ("observatory_worker_file_descriptors", "", ""), moment, value)

    def scheduler_scraped(self, samples: Iterable[tuple[Series, float]], moment: float) -> None:
        """The scheduler's /metrics: its load, and what all tasks came to."""
        sums: defaultdict[Name, float] = defaultdict(float)
        for series, value in samples:
            load = self.growth.load(series.metric, moment, value)
            if load is not None:
                self._emit("", (load[0], "", ""), moment, load[1])
            elif action := SPENT.get(series.metric):
                sums["observatory_cluster_task_seconds_total", "action", action] += value
            elif series.metric == "dask_scheduler_prefix_state_totals_total":
                is_finished = dict(series.labels).get("state") in FINISHED
                sums["observatory_cluster_tasks_finished_total", "", ""] += value if is_finished else 0
        for name, value in sums.items():
            self._emit("", name, moment, value)

    def counted(self, counts: Counts, moment: float) -> None:
        for name, state in STATES.items():
            self._emit("", ("observatory_cluster_tasks", "state", state), moment, counts[name])
        for name, state in (("workers", "total"), ("idle", "idle"), ("saturated", "saturated")):
            self._emit("", ("observatory_cluster_workers", "state", state), moment, counts[name])
        self._emit("", ("observatory_cluster_threads", "", ""), moment, counts["cores"])
        self._emit("", ("observatory_cluster_clients", "", ""), moment, counts["clients"])

    def summed(self, limit: int, moment: float) -> None:
        """The cluster's memory: the sums of what its workers told last; `limit` is that of all, in bytes."""
        total: Counter[str] = Counter()
        for state in self.states.values():
            total.update(state.memory)
        for kind, value in total.items():
            self._emit("", ("observatory_cluster_memory_bytes", "type", kind), moment, value)
        self._emit("", ("observatory_cluster_memory_limit_bytes", "", ""), moment, limit)

    def _emit(self, worker: str, name: Name, moment: float, value: float) -> None:
        series = self.series.get((worker, name))
        if series is None:
            labels = ((name[1], name[2]),) if name[1] else ()
            type = MetricType.COUNTER if name[0].endswith("_total") else MetricType.GAUGE
            series = self.series[worker, name] = Series(name[0], labels, worker, type)
        self.emit(series, moment, float(value))
