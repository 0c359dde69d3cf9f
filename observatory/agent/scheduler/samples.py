"""Samples the scheduler's state periodically: its load, the workers' heartbeats, memory by prefix and more.

The collector derives metrics of the same names from the stock endpoints (docs/metrics.md).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from time import time
from typing import Any

from distributed import Scheduler
from tornado.ioloop import PeriodicCallback

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.scheduler.bandwidth import Bandwidth
from observatory.agent.scheduler.clocks import Clocks
from observatory.agent.scheduler.fine_performance import FinePerformance
from observatory.agent.scheduler.semaphores import Semaphores
from observatory.agent.scheduler.shuffles import Shuffles
from observatory.agent.scheduler.unrunnable import UnrunnableTasks
from observatory.agent.worker.event_loop import METRIC as EVENT_LOOP_INTERVAL
from observatory.agent.worker.event_loop import OWN_METRIC as OWN_INTERVAL
from observatory.agent.worker.event_loop import Ticks
from observatory.agent.worker.modules import METRIC as MODULES
from observatory.agent.worker.process import METRIC as PROCESS_NAME
from observatory.agent.worker.profiles.dask_profiles import Profiles
from observatory.agent.worker.profiles.task_threads import METRIC as TASK_THREADS
from observatory.wire.event_kinds import METRICS_IGNORED, PREFIXES_SUMMED
from observatory.wire.metrics import TASKS_COMPUTED, computed_tasks
from observatory.wire.records import TASK_STATES, MetricType
from observatory.wire.rounding import rounded
from observatory.wire.tasks.prefixes import NamedPrefixes
from observatory.wire.workers import gpus
from observatory.wire.workers.custom_metrics import LABEL, CustomMetrics
from observatory.wire.workers.custom_metrics import METRIC as CUSTOM
from observatory.wire.workers.processes import MONITORED, WorkerMemory, has_measured, process_of_address

GAUGE, COUNTER = int(MetricType.GAUGE), int(MetricType.COUNTER)
SLOW = 5
"""Ticks between two samples of values that change slowly."""
RARE = 10
"""Ticks between two samples of how often tasks entered each state, by prefix."""
AT_REST = 2
"""Ticks between two samples while the cluster is at rest."""
LONGEST_INTERVAL = 1.0
"""Seconds between ticks up to which they may be skipped: charts and rules take three seconds for a gap."""
MAXIMUM_CHANGED = 50
"""Prefixes whose memory changed, of which a tick samples it; a slow tick samples all."""
PREFIX_MEMORY = "observatory_prefix_memory_bytes"
ENTERED = ("waiting", "memory", "erred")
MEMORY = ("process", "managed", "unmanaged", "spilled")
STATES = tuple(state for state in TASK_STATES if state != "forgotten")


class Sampler:
    """Rows of kind `sample`, and the scheduler's own of kind `profile`, each `interval` seconds."""

    def __init__(
        self,
        scheduler: Scheduler,
        buffer: Buffer,
        interval: float,
        report: Callable[[float], None],
        is_at_rest: Callable[[], bool],
    ) -> None:
        """`report` is called with the time (seconds) at each sampling.

        `is_at_rest` says whether nothing but samples was reported for a while.
        """
        self.scheduler = scheduler
        self._report = report
        self._is_at_rest = is_at_rest
        self._sample = buffer.appender("sample")
        self._profile = buffer.appender("profile")
        self._profiles = Profiles(scheduler, "")
        self.shuffles = Shuffles(scheduler, buffer)
        self._prefixes = NamedPrefixes()
        self._event = buffer.appender("event")
        self._custom = CustomMetrics(lambda message: self._report_message(METRICS_IGNORED, message))
        self._fine_performance = FinePerformance(scheduler, buffer, self._add_counter, self._prefixes.name_of)
        self._bandwidth = Bandwidth(self._add)
        self._semaphores = Semaphores(scheduler, self._add)
        self._clocks = Clocks(buffer)
        self._unrunnable = UnrunnableTasks(scheduler)
        self._interval = interval
        self._series: dict[tuple[Any, ...], str] = {}
        self._heartbeats: dict[str, float] = {}
        """Arrival of each worker's last heartbeat."""
        self._worker_memory = WorkerMemory()
        self._executing: dict[str, int] = {}
        """Tasks that each worker computed at its last heartbeat."""
        self._counters: dict[str, float] = {}
        self._ticks = 0
        self._event_loop = Ticks(scheduler)
        self._results: dict[Any, tuple[str, int]] = {}
        self._memory: dict[str, int] = {}
        """Bytes of results in memory by prefix, as NamedPrefixes has it. One that has none is sampled once
        more, and removed."""
        self._changed: set[str] = set()
        """Prefixes whose results in memory changed since the last tick."""
        self.states: defaultdict[str, int] = defaultdict(int, dict.fromkeys(STATES, 0))
        """Number of tasks by state, updated by the plugin's `transition` hook."""
        self.failures = 0
        self._reported_sum = False
        """Whether an event says that metrics of prefixes are summed."""

    def start(self) -> None:
        for task in self.scheduler.tasks.values():
            self.states[task.state] += 1
            if task.state == "memory":
                self._add_result(task)
        self._callback = PeriodicCallback(self._tick, self._interval * 1000)
        self._callback.start()

    def stop(self) -> None:
        self._callback.stop()
        self._ticks = -1  # the last samples are of everything
        self._tick()

    def result_stored(self, key: Any) -> None:
        """A task's result is in memory."""
        task = self.scheduler.tasks[key]
        prefix = self._prefixes.name_of(task.prefix.name)
        if prefix not in self._memory:  # else a chart would draw a ramp from the last sample, however old
            self._add(time(), PREFIX_MEMORY, 0, {"prefix": prefix})
        self._add_result(task)

    def _add_result(self, task: Any) -> None:
        prefix, nbytes = self._prefixes.name_of(task.prefix.name), max(0, task.nbytes)
        self._results[task.key] = (prefix, nbytes)
        self._memory[prefix] = self._memory.get(prefix, 0) + nbytes
        self._changed.add(prefix)

    def result_released(self, key: Any) -> None:
        """A task's result left memory."""
        prefix, nbytes = self._results.pop(key, ("", 0))
        if prefix:
            self._memory[prefix] -= nbytes
            self._changed.add(prefix)

    def forget(self, worker: str) -> None:
        """Forgets a worker that left."""
        self._heartbeats.pop(worker, None)
        self._clocks.forget(worker)
        self._worker_memory.forget(worker)
        self._custom.forget(worker)
        self._executing.pop(worker, None)
        self._series = {key: series for key, series in self._series.items() if key[1] != worker}

    def _tick(self) -> None:
        try:
            self._ticks += 1
            if self._ticks % AT_REST and self._rests():
                return
            now = time()
            self._report(now)
            self._sample_cluster(now)
            self._sample_scheduler(now)
            for address, worker in list(self.scheduler.workers.items()):
                self._sample_worker(now, address, worker)
            self._bandwidth.sample(now)
            self._sample_cluster_memory(now)
            self._sample_prefix_memory(now)
            self._add(now, "observatory_cluster_busy_threads", sum(self._executing.values()))
            self.shuffles.sample(now)
            self._semaphores.sample(now)
            for row in self._profiles.rows():
                self._profile(row)
            if self._ticks % SLOW == 0:
                self._sample_slow(now)
            if self._ticks % RARE == 0:
                self._sample_prefixes(now)
        except Exception:  # never disturb the scheduler
            self.failures += 1

    def _rests(self) -> bool:
        return self._interval <= LONGEST_INTERVAL and not self.states["processing"] and self._is_at_rest()

    def _add(
        self,
        now: float,
        metric: str,
        value: Any,
        labels: Mapping[str, str] | None = None,
        worker: str = "",
        type: int = GAUGE,
    ) -> None:
        if not isinstance(value, (int, float)):
            return
        key = (metric, worker, *labels.items()) if labels else (metric, worker)
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = json.dumps([metric, labels or {}, worker, type])
        self._sample((now, rounded(metric, float(value)), series))

    def _add_counter(self, now: float, metric: str, value: float, labels: Mapping[str, str]) -> None:
        """Adds a sample of a counter if it changed."""
        key = f"{metric}{labels}"
        if self._counters.get(key) != value:
            self._counters[key] = value
            self._add(now, metric, value, labels, type=COUNTER)

    def _sample_cluster(self, now: float) -> None:
        scheduler = self.scheduler
        for state in STATES:
            if state != "released":
                self._add(
                    now, "observatory_cluster_tasks", max(0, self.states.get(state, 0)), {"state": state}
                )
        released = len(scheduler.tasks) - sum(
            count for state, count in self.states.items() if state in STATES and state != "released"
        )
        self._add(now, "observatory_cluster_tasks", max(0, released), {"state": "released"})
        for state, count in (
            ("total", len(scheduler.workers)),
            ("idle", len(scheduler.idle)),
            ("saturated", len(scheduler.saturated)),
        ):
            self._add(now, "observatory_cluster_workers", count, {"state": state})
        self._add(now, "observatory_cluster_threads", scheduler.total_nthreads)
        self._add(now, "observatory_cluster_clients", len(scheduler.clients))

        for reason, tasks in self._unrunnable.count().items():
            self._add(now, "observatory_cluster_unrunnable_tasks", tasks, {"reason": reason})

    def _sample_scheduler(self, now: float) -> None:
        """From SystemMonitor.recent(), the event loop's ticks, the queue and the number of transitions."""
        recent = self.scheduler.monitor.recent()
        self._add(now, "observatory_scheduler_cpu_percent", recent.get("cpu"))
        self._add(now, "observatory_scheduler_memory_bytes", recent.get("memory"))
        self._add(now, "observatory_scheduler_gil_contention_ratio", recent.get("gil_contention"))
        self._sample_event_loop(now)
        self._add(now, "observatory_scheduler_queued_tasks", len(getattr(self.scheduler, "queued", ())))
        transitions = getattr(self.scheduler, "transition_counter", None)
        self._add(now, "observatory_scheduler_transitions_total", transitions, type=COUNTER)

    def _sample_event_loop(self, now: float) -> None:
        """Server._tick_interval_observed is of one second each, of which samples may miss that of a stall."""
        interval, own = self._event_loop.means()
        if getattr(self.scheduler, "_tick_counter", 0):
            self._add(now, "observatory_scheduler_event_loop_interval_seconds", interval)
            self._add(now, "observatory_scheduler_event_loop_own_interval_seconds", own)

    def _sample_worker(self, now: float, address: str, worker: Any) -> None:
        self._add(now, "observatory_worker_processing_tasks", len(worker.processing), worker=address)
        self._add(now, "observatory_worker_occupancy_seconds", worker.occupancy, worker=address)
        if worker.last_seen == self._heartbeats.get(address):
            return
        measured = has_measured(worker.metrics.get("cpu"), is_first=address not in self._heartbeats)
        self._heartbeats[address] = worker.last_seen
        self._clocks.look(address, worker)
        process = process_of(address, worker.metrics)
        nbytes = self._worker_memory.update(address, process, dict(memory(worker)))
        self._executing[address] = (worker.metrics.get("task_counts") or {}).get("executing", 0)
        self._bandwidth.add_heartbeat(worker.metrics)
        for metric, labels, value in heartbeat(worker, nbytes):
            if measured or metric not in MONITORED:
                self._add(worker.last_seen or now, metric, value, labels, address)
        for name, value in self._custom.read(address, worker.metrics).items():
            self._add(worker.last_seen or now, CUSTOM, value, {LABEL: name}, address)

    def _sample_slow(self, now: float) -> None:
        """Samples values that change slowly."""
        self._sample_finished(now)
        self._fine_performance.sample(now)
        self._sample_stealing(now)

    def _sample_prefix_memory(self, now: float) -> None:
        """Results in memory: of prefixes where that changed; at slow ticks of all."""
        is_slow = self._ticks % SLOW == 0
        prefixes = list(self._memory) if is_slow else list(self._changed)[:MAXIMUM_CHANGED]
        self._changed.clear()
        for prefix in prefixes:
            nbytes = self._memory.get(prefix, 0)
            self._add(now, PREFIX_MEMORY, nbytes, {"prefix": prefix})
            if not nbytes:
                self._memory.pop(prefix, None)

    def _sample_finished(self, now: float) -> None:
        """Finished tasks and their durations, summed over all TaskPrefix."""
        prefixes = list(self.scheduler.task_prefixes.values())
        finished = sum(prefix.state_counts[state] for prefix in prefixes for state in ("memory", "erred"))
        self._add(now, "observatory_cluster_tasks_finished_total", finished, type=COUNTER)
        computed = sum(computed_tasks(prefix.state_counts) for prefix in prefixes)
        self._add(now, TASKS_COMPUTED, computed, type=COUNTER)
        for action in ("compute", "transfer"):
            seconds = sum(prefix.all_durations[action] for prefix in prefixes)
            labels = {"action": action}
            self._add(now, "observatory_cluster_task_seconds_total", seconds, labels, type=COUNTER)

    def _sample_prefixes(self, now: float) -> None:
        """How often tasks entered each state, as in the scheduler's /metrics: it includes dropped records."""
        counts: defaultdict[tuple[str, str], int] = defaultdict(int)
        for prefix in list(self.scheduler.task_prefixes.values()):
            counted = self._prefixes.name_of(prefix.name)
            for state, count in prefix.state_counts.items():
                if state in ENTERED:
                    counts[counted, state] += count
        for (name, entered), count in counts.items():
            labels = {"task_prefix_name": name, "state": entered}
            self._add(now, "dask_scheduler_prefix_state_totals_total", count, labels, type=COUNTER)
        if self._prefixes.message and not self._reported_sum:
            self._reported_sum = True
            self._report_message(PREFIXES_SUMMED, self._prefixes.message)

    def _report_message(self, kind: str, message: str) -> None:
        """Records what is missing."""
        self._event((time(), kind, "", json.dumps({"message": message})))

    def _sample_cluster_memory(self, now: float) -> None:
        total = self._worker_memory.total()
        for type in MEMORY:
            self._add(now, "observatory_cluster_memory_bytes", total.get(type, 0.0), {"type": type})
        limit = sum(worker.memory_limit or 0 for worker in self.scheduler.workers.values())
        self._add(now, "observatory_cluster_memory_limit_bytes", limit)

    def _sample_stealing(self, now: float) -> None:
        extension = self.scheduler.extensions.get("stealing")
        for name, by_level in getattr(extension, "metrics", {}).items():
            unit = "seconds_total" if "cost" in name else "requests_total"
            for level, value in list(by_level.items()):
                self._add_counter(now, f"observatory_stealing_{unit}", value, {"level": str(level)})


def process_of(address: str, metrics: Mapping[str, Any]) -> str:
    """The process of a worker, which its plugin names in its heartbeats."""
    named = metrics.get(PROCESS_NAME)
    return named if isinstance(named, str) else process_of_address(address)


def heartbeat(worker: Any, memory: Mapping[str, float]) -> Iterator[tuple[str, dict[str, str], Any]]:
    """(metric, labels, value) of a worker's last heartbeat (WorkerState.metrics). `memory`: bytes by type."""
    metrics = worker.metrics
    for kind, nbytes in memory.items():
        yield "observatory_worker_memory_bytes", {"type": kind}, nbytes
    yield "observatory_worker_cpu_percent", {}, metrics.get("cpu")
    threads = metrics.get(TASK_THREADS) or {}
    yield "observatory_worker_task_cpu_percent", {}, threads.get("cpu")
    for wait, count in (threads.get("waits") or {}).items():
        yield "observatory_worker_task_waits", {"in": str(wait)}, count
    yield "observatory_worker_gil_contention_ratio", {}, metrics.get("gil_contention")
    interval = metrics.get(EVENT_LOOP_INTERVAL, metrics.get("event_loop_interval"))
    yield "observatory_worker_event_loop_interval_seconds", {}, interval
    yield "observatory_worker_event_loop_own_interval_seconds", {}, metrics.get(OWN_INTERVAL)
    yield "observatory_worker_imported_modules", {}, metrics.get(MODULES)
    yield "observatory_worker_file_descriptors", {}, metrics.get("num_fds")
    for medium, name in (("net", "network"), ("disk", "disk")):
        rates = metrics.get(f"host_{medium}_io") or {}
        for direction in ("read", "write"):
            rate = rates.get(f"{direction}_bps")
            yield f"observatory_worker_host_{name}_bytes_per_second", {"direction": direction}, rate
    transfer = metrics.get("transfer") or {}
    for direction in ("incoming", "outgoing"):
        moving = transfer.get(f"{direction}_bytes")
        yield "observatory_worker_transfer_bytes", {"direction": direction}, moving
    yield "observatory_worker_unmanaged_recent_bytes", {}, getattr(worker.memory, "unmanaged_recent", None)
    for metric, label, kind, value in gpus.heartbeat_values(metrics, worker.extra):
        yield f"observatory_worker_{metric}", {label: kind} if label else {}, value
    for state, count in (metrics.get("task_counts") or {}).items():
        yield "observatory_worker_tasks", {"state": str(state)}, count


def memory(worker: Any) -> Iterator[tuple[str, int]]:
    """A worker's memory by type, in bytes (WorkerState.memory)."""
    state = worker.memory
    for kind in MEMORY:
        yield kind, int(getattr(state, kind, 0) or 0)
