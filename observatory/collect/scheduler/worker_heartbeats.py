"""Samples of the workers' heartbeats and of the cluster's counts, as `observatory_` metrics.

The metrics are listed in docs/metrics.md. A heartbeat is stored once, at its time on the scheduler's
clock: the worker's own time plus the least delay seen so far between measurement and arrival. While
identity.json fails (workers_page.py) memory, CPU, event loop and GIL are derived from the workers' /metrics,
under the same names. The scheduler's own load is derived from the scheduler's /metrics.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from observatory.collect.scheduler.identity import Counts, Identity, WorkerIdentity
from observatory.wire.clocks import HEARTBEAT_LATENCY
from observatory.wire.metrics import TASKS_COMPUTED, computed_tasks
from observatory.wire.records import MetricType, Series
from observatory.wire.rounding import rounded
from observatory.wire.workers.custom_metrics import LABEL, CustomMetrics
from observatory.wire.workers.custom_metrics import METRIC as CUSTOM
from observatory.wire.workers.processes import CPU, MONITORED, WorkerMemory, has_measured, process_of_address

Emit = Callable[[Series, float, float], None]
Name = tuple[str, str, str]

SAME = 0.15
"""Seconds by which the workers page may differ in the time of the same heartbeat."""
STALE = 3.0
"""Seconds without a complete heartbeat after which /metrics is used instead, if polls are a second apart."""
LATE = 1.25
"""Seconds more for each further second between two polls, which are not made to the second."""
MEMORY = "observatory_worker_memory_bytes"
EXECUTING = ("observatory_worker_tasks", "state", "executing")
STATE_OF_COUNT = {
    "waiting": "waiting",
    "processing": "processing",
    "memory": "memory",
    "erred": "erred",
    "released": "released",
    "unrunnable": "no-worker",
}
"""The task state of each count in counts.json."""
FINISHED = ("memory", "erred")
"""The states in which a task is finished."""
ACTION_OF_COUNTER = {
    "dask_scheduler_tasks_compute_seconds_total": "compute",
    "dask_scheduler_tasks_transfer_seconds_total": "transfer",
}

LOADS: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "process_cpu_seconds_total": ("cpu_percent", lambda seconds, used: round(100 * used / seconds, 1)),
    "dask_{}_gil_contention_seconds_total": (
        "gil_contention_ratio",
        lambda seconds, waited: waited / seconds,
    ),
    "dask_{}_tick_count_total": (
        "event_loop_interval_seconds",
        lambda seconds, ticks: seconds / max(1.0, ticks),
    ),
}
"""The metric derived from each counter, as a function of the seconds passed and the counter's increase."""


class LoadCounters:
    """Derives the load of a process from its counters. `role`: worker or scheduler."""

    def __init__(self, role: str) -> None:
        self.loads = {
            counter.format(role): (f"observatory_{role}_{metric}", load)
            for counter, (metric, load) in LOADS.items()
        }
        self.last: dict[str, tuple[float, float]] = {}

    def load(self, counter: str, time: float, value: float) -> tuple[str, float] | None:
        """(metric, value) since the last call; None for the first value, a reset, and other counters."""
        known = self.loads.get(counter)
        if known is None:
            return None
        before, self.last[counter] = self.last.get(counter), (time, value)
        if before is None or time <= before[0] or not value >= before[1]:
            return None
        metric, load = known
        return metric, load(time - before[0], value - before[1])


@dataclass(slots=True)
class HeartbeatState:
    """State of one worker's heartbeats."""

    measured: float = 0.0
    """Time of the last heartbeat."""
    delay: float = float("inf")
    """Least seconds between measurement and arrival; corrects the worker's clock."""
    complete_at: float = -math.inf
    """When the last complete heartbeat arrived (monotonic)."""
    executing: float = 0.0
    """Tasks that it computes."""
    counters: LoadCounters = field(default_factory=lambda: LoadCounters("worker"))


class Heartbeats:
    """Calls emit(series, time, value) for each sample. Times are on the scheduler's clock."""

    def __init__(
        self,
        emit: Emit,
        process_of: Callable[[str], str] = process_of_address,
        tell: Callable[[str], None] = lambda message: None,
    ) -> None:
        """`process_of`: the process of a worker, by its address; "" if no other worker shares it.

        `tell` is called with what isn't recorded.
        """
        self.emit = emit
        self.interval = 1.0
        """Seconds between two polls."""
        self.process_of = process_of
        self.memory = WorkerMemory()
        self.kinds: set[str] = set()
        """Kinds of memory that workers have reported."""
        self.custom = CustomMetrics(tell)
        self.states: dict[str, HeartbeatState] = {}
        self.series: defaultdict[str, dict[Name, Series]] = defaultdict(dict)
        """By the address of the worker; "" for the scheduler's."""
        self.counters = LoadCounters("scheduler")

    def add_identity(self, identity: Identity) -> None:
        """Adds the heartbeats of all workers."""
        for worker in identity.workers.values():
            self._heartbeat(worker, is_complete=bool(identity.scheduler_id))
        for address in self.states.keys() - identity.workers.keys():
            self.forget(address)

    def forget(self, address: str) -> None:
        """Forgets a worker that left."""
        self.states.pop(address, None)
        self.memory.forget(address)
        self.custom.forget(address)
        self.series.pop(address, None)

    def clock_delay(self, address: str) -> float:
        """Seconds that the scheduler's clock is ahead of a worker's; 0 if it may be a heartbeat's latency."""
        state = self.states.get(address)
        if state is None or not HEARTBEAT_LATENCY < abs(state.delay) < math.inf:
            return 0.0
        return state.delay

    def _heartbeat(self, worker: WorkerIdentity, is_complete: bool) -> None:
        heartbeat = worker.heartbeat
        state = self.states.setdefault(worker.address, HeartbeatState())
        if heartbeat is None:
            return
        is_first = not state.measured
        if is_complete:
            state.complete_at = time.monotonic()
            if heartbeat.time == state.measured:
                return
            state.measured = heartbeat.time
            state.delay = min(state.delay, worker.last_seen - heartbeat.time)
            state.executing = heartbeat.values.get(EXECUTING, 0.0)
            measured = heartbeat.time + state.delay
        else:
            measured = heartbeat.time
            if abs(measured - state.measured) < SAME:
                return
            state.measured = measured
        values = heartbeat.values
        if not has_measured(values.get((CPU, "", "")), is_first):
            values = {name: value for name, value in values.items() if name[0] not in MONITORED}
        reported = {name[2]: value for name, value in values.items() if name[0] == MEMORY}
        memory = self.memory.update(worker.address, self.process_of(worker.address), reported)
        for name, value in values.items():
            value = memory[name[2]] if name[0] == MEMORY else value
            self._emit(worker.address, name, measured, value)
        for text, value in self.custom.read(worker.address, heartbeat.metrics).items():
            self._emit(worker.address, (CUSTOM, LABEL, text), measured, value)

    def needs_metrics(self, address: str) -> bool:
        """Whether a worker's /metrics replaces its heartbeats now."""
        state = self.states.get(address)
        stale = STALE + LATE * max(0.0, self.interval - 1)
        return state is not None and time.monotonic() - state.complete_at >= stale

    def add_worker_metrics(self, address: str, samples: Iterable[tuple[Series, float]], now: float) -> None:
        """Adds a worker's /metrics, which replaces its heartbeats while they are not complete."""
        state = self.states.get(address)
        if state is None:
            return
        is_used = self.needs_metrics(address)
        for series, value in samples:
            load = state.counters.load(series.metric, now, value)
            if not is_used:
                continue
            if load is not None:
                self._emit(address, (load[0], "", ""), now, load[1])
            elif series.metric == "dask_worker_memory_bytes":
                kind = dict(series.labels).get("type", "")
                if kind in {"managed", "unmanaged", "spilled"}:
                    memory = self.memory.update(address, self.process_of(address), {kind: value})
                    self._emit(address, (MEMORY, "type", kind), now, memory[kind])
            elif series.metric == "dask_worker_tasks" and dict(series.labels).get("state") == "executing":
                state.executing = value
            elif series.metric == "process_open_fds":
                self._emit(address, ("observatory_worker_file_descriptors", "", ""), now, value)

    def add_scheduler_metrics(self, samples: Iterable[tuple[Series, float]], now: float) -> None:
        """Adds the scheduler's /metrics: its load and the totals over all tasks."""
        sums: defaultdict[Name, float] = defaultdict(float)
        entered: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for series, value in samples:
            load = self.counters.load(series.metric, now, value)
            if load is not None:
                self._emit("", (load[0], "", ""), now, load[1])
            elif action := ACTION_OF_COUNTER.get(series.metric):
                sums["observatory_cluster_task_seconds_total", "action", action] += value
            elif series.metric == "dask_scheduler_prefix_state_totals_total":
                labels = dict(series.labels)
                state = labels.get("state", "")
                is_finished = state in FINISHED
                sums["observatory_cluster_tasks_finished_total", "", ""] += value if is_finished else 0
                entered[labels.get("task_prefix_name", "")][state] = value
        if entered:
            sums[TASKS_COMPUTED, "", ""] = sum(map(computed_tasks, entered.values()))
        for name, value in sums.items():
            self._emit("", name, now, value)

    def add_counts(self, counts: Counts, now: float) -> None:
        """Adds counts.json."""
        for name, state in STATE_OF_COUNT.items():
            self._emit("", ("observatory_cluster_tasks", "state", state), now, counts[name])
        for name, state in (("workers", "total"), ("idle", "idle"), ("saturated", "saturated")):
            self._emit("", ("observatory_cluster_workers", "state", state), now, counts[name])
        self._emit("", ("observatory_cluster_threads", "", ""), now, counts["cores"])
        self._emit("", ("observatory_cluster_clients", "", ""), now, counts["clients"])

    def add_sums(self, limit: int, now: float) -> None:
        """Adds sums over the workers: memory and busy threads. `limit`: of their memory, in bytes."""
        total = self.memory.total()
        self.kinds |= total.keys()
        for kind in self.kinds:  # those without workers are 0 bytes, not the last value
            self._emit("", ("observatory_cluster_memory_bytes", "type", kind), now, total.get(kind, 0.0))
        self._emit("", ("observatory_cluster_memory_limit_bytes", "", ""), now, limit)
        busy = sum(state.executing for state in self.states.values())
        self._emit("", ("observatory_cluster_busy_threads", "", ""), now, busy)

    def _emit(self, worker: str, name: Name, now: float, value: float) -> None:
        known = self.series[worker]
        series = known.get(name)
        if series is None:
            labels = ((name[1], name[2]),) if name[1] else ()
            type = MetricType.COUNTER if name[0].endswith("_total") else MetricType.GAUGE
            series = known[name] = Series(name[0], labels, worker, type)
        self.emit(series, now, rounded(series.metric, float(value)))
