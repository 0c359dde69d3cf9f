# ruff: noqa: E501
"""The metrics of Observatory and Dask. To add one, add an entry here.

Units, help texts, labels, the layers of the timeline and docs/metrics.md are derived from these entries.
Metrics of other programs come with their own help text (`# HELP` of their `/metrics` page).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from observatory.wire.records import MetricType
from observatory.wire.tasks.waits import TASK_WAITS

GAUGE, COUNTER = MetricType.GAUGE, MetricType.COUNTER

Labels = Mapping[str, tuple[str, ...]]
"""the values of each label that are known in advance"""


class Source(Enum):
    """Who has to report a metric, where a stock cluster without extras doesn't."""

    STOCK = ""
    AGENT = "Needs the agent."
    AGENT_OR_PROMETHEUS = "Needs the agent, or prometheus_client on the scheduler."
    GILKNOCKER = "Needs gilknocker in that process."
    GPU = "Needs a GPU and pynvml on the worker."
    GPU_AGENT = "Needs the agent, and a GPU and pynvml on the worker."
    RMM = "Needs rmm on the worker."
    GPU_SPILLING = "Needs cuDF's spilling, or the agent and dask-cuda with a limit of device memory."
    CRICK = "Needs crick on the worker."
    OBSERVATORY = "Of Observatory itself."


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    unit: str
    """bytes, seconds, ratio, percent, watts, celsius, one of these with "/s", or "" for plain numbers"""
    summary: str
    labels: Labels = field(default_factory=dict)
    type: MetricType = GAUGE
    layer: str = ""
    """the layer of the timeline that draws it"""
    source: Source = Source.STOCK
    is_scraped: bool = False
    """reported about the cluster, but read from `/metrics`, at the interval of scrapes"""
    is_sent_on_change: bool = False
    """a counter that agents send only when its value changed"""
    kinds: tuple[str, ...] = ()
    """labels whose values don't add up: they overlap or are different things. Values of other labels do"""
    is_fraction: bool = False
    """a plain number that isn't a count"""
    of_device: bool = False
    """a metric of a GPU: workers that share the GPU, by its label `device`, report it alike"""
    of_process: bool = False
    """a worker's metric that all workers in one process report alike, but for their own memory"""
    is_rounded: bool = False
    """a rate, share or mean: its values keep SIGNIFICANT_BITS (rounding.py)"""

    @property
    def help(self) -> str:
        return f"{self.summary} {self.source.value}".strip()

    @property
    def origin(self) -> str:
        """Who reports the metric, for people who miss it."""
        if not self.name.startswith("dask_"):
            return self.source.value or "A target or the agent reports it."
        page = "It is read from a /metrics page. That needs a target and prometheus_client in that process."
        return f"{page} {self.source.value}".strip()

    @property
    def is_own(self) -> bool:
        """Observatory reports it about itself."""
        return self.source is Source.OBSERVATORY

    @property
    def is_count(self) -> bool:
        """Its values are whole numbers."""
        return self.unit == "" and not self.is_fraction

    @property
    def of_workers(self) -> bool:
        """Each worker has series of its own; otherwise the scheduler or the cluster has them."""
        return self.name.startswith(("observatory_worker_", "dask_worker_"))


NO_LABELS: Labels = {}
MEMORY = {"type": ("process", "managed", "unmanaged", "spilled")}
DEVICE: Labels = {"device": (), "gpu": (), "model": ()}
RMM = {"type": ("used", "total")}
GPU = {**RMM, **DEVICE}
POWER = {"type": ("used", "limit"), **DEVICE}
READ_WRITE = {"direction": ("read", "write")}
IN_OUT = {"direction": ("incoming", "outgoing")}
STATES = {"state": ("waiting", "queued", "no-worker", "processing", "memory", "erred", "released")}
ON_WORKER = ("executing", "waiting", "ready", "constrained", "fetch", "flight", "memory")
PREFIX: Labels = {"task_prefix_name": ()}
PREFIX_LABELS = (*PREFIX, "prefix")
SPILL = {"activity": ("memory_read", "disk_read", "disk_write", "pickle", "unpickle")}
COST: Labels = {"cost_multiplier": ()}
LEVEL: Labels = {"level": ()}
SEMAPHORE: Labels = {"name": ()}

TASKS_COMPUTED = "observatory_cluster_tasks_computed_total"

# fmt: off
_OBSERVATORY = (
    Metric("observatory_worker_memory_bytes", "bytes", "Memory of a worker: its process; within it the results that Dask manages and the unmanaged rest; results spilled to disk.", MEMORY, layer="memory", kinds=("type",), of_process=True),
    Metric("observatory_cluster_memory_bytes", "bytes", "Memory of all workers together.", MEMORY, layer="cluster-memory", kinds=("type",)),
    Metric("observatory_cluster_memory_limit_bytes", "bytes", "Memory limits of all workers together.", layer="cluster-memory"),
    Metric("observatory_worker_cpu_percent", "percent", "CPU use of a worker's process; 100 is one core.", layer="cpu", of_process=True),
    Metric("observatory_worker_task_cpu_percent", "percent", "CPU that the threads of a worker's tasks used, or were ready to use while others had it; 100 is one core. On Linux.", source=Source.AGENT, is_rounded=True),
    Metric("observatory_worker_task_waits", "", "Threads of a worker that have a task and don't run, by what they wait in. Conditions, queues and the GIL are locks too. On Linux.", {"in": TASK_WAITS}, source=Source.AGENT),
    Metric("observatory_worker_gil_contention_ratio", "ratio", "Share of time in which a worker's threads wait for the GIL.", layer="gil", source=Source.GILKNOCKER, of_process=True, is_rounded=True),
    Metric("observatory_worker_event_loop_interval_seconds", "seconds", "Mean time between two ticks of a worker's event loop; 0.02 when nothing blocks it.", layer="event-loop", of_process=True, is_rounded=True),
    Metric("observatory_worker_event_loop_own_interval_seconds", "seconds", "Mean time between two ticks of a worker's event loop, without the time in which it was ready to run and others had the cores. On Linux.", source=Source.AGENT, of_process=True, is_rounded=True),
    Metric("observatory_worker_imported_modules", "", "Python modules that a worker's process imported in the last second, or while its event loop was blocked.", source=Source.AGENT, of_process=True),
    Metric("observatory_worker_host_network_bytes_per_second", "bytes/s", "Network traffic of a worker's machine, all processes together.", READ_WRITE, layer="network", of_process=True, is_rounded=True),
    Metric("observatory_worker_host_disk_bytes_per_second", "bytes/s", "Disk traffic of a worker's machine, all processes together.", READ_WRITE, layer="disk", of_process=True, is_rounded=True),
    Metric("observatory_worker_transfer_bytes", "bytes", "Results in transit to or from other workers.", IN_OUT),
    Metric("observatory_worker_tasks", "", "Tasks on a worker by their state there.", {"state": ON_WORKER}, kinds=("state",)),
    Metric("observatory_worker_file_descriptors", "", "Open files and connections of a worker's process.", layer="descriptors", of_process=True),
    Metric("observatory_worker_unmanaged_recent_bytes", "bytes", "Unmanaged memory of a worker that it has had for less than 30 seconds; the rest is old.", source=Source.AGENT, of_process=True),
    Metric("observatory_worker_gpu_memory_bytes", "bytes", "Memory of each GPU that a worker may use, and of each part (MIG) instead of a GPU that has parts; without the agent, of its first GPU.", GPU, layer="gpu", source=Source.GPU, kinds=("type",), of_process=True, of_device=True),
    Metric("observatory_worker_gpu_memory_ratio", "ratio", "Share of that memory in use.", DEVICE, source=Source.GPU, of_process=True, of_device=True, is_rounded=True),
    Metric("observatory_worker_gpu_utilization_percent", "percent", "Share of time in which a worker's GPU was busy. A GPU in MIG mode doesn't tell.", DEVICE, layer="gpu", source=Source.GPU, of_process=True, of_device=True),
    Metric("observatory_worker_gpu_power_watts", "watts", "Power that a worker's GPU uses, and the limit that is enforced; of all parts of a GPU together.", POWER, layer="gpu", source=Source.GPU_AGENT, kinds=("type",), of_process=True, of_device=True, is_rounded=True),
    Metric("observatory_worker_gpu_temperature_celsius", "celsius", "Temperature of a worker's GPU.", DEVICE, layer="gpu", source=Source.GPU_AGENT, of_process=True, of_device=True),
    Metric("observatory_worker_gpu_spilled_bytes", "bytes", "Data of a worker's GPU that cuDF or dask-cuda moved to its host's memory.", {"by": ("cudf", "dask-cuda")}, layer="gpu", source=Source.GPU_SPILLING),
    Metric("observatory_worker_rmm_memory_bytes", "bytes", "GPU memory that RMM, RAPIDS' memory manager, has allocated, and its pool.", RMM, layer="gpu", source=Source.RMM, kinds=("type",), of_process=True),
    Metric("observatory_worker_custom", "", "Numbers that people add to the heartbeats of workers (`Worker(metrics=…)`); of a nested object each, such as `queue_depth.high`.", {"name": ()}, layer="custom", kinds=("name",), is_fraction=True),
    Metric("observatory_worker_disk_ratio", "ratio", "How full the disk is that a worker spills to; 1 is full.", layer="disk", source=Source.AGENT, of_process=True, is_rounded=True),
    Metric("observatory_worker_processing_tasks", "", "Tasks assigned to a worker.", source=Source.AGENT),
    Metric("observatory_worker_occupancy_seconds", "seconds", "How long the scheduler expects a worker to be busy with its assigned tasks.", source=Source.AGENT, is_rounded=True),
    Metric("observatory_cluster_tasks", "", "Tasks that the scheduler knows, by state.", STATES, layer="states", kinds=("state",)),
    Metric("observatory_cluster_unrunnable_tasks", "", "Tasks that no worker may run (no-worker), by the reason, such as a resource that no worker has; of at most 1,000 of them.", {"reason": ()}, source=Source.AGENT),
    Metric("observatory_cluster_tasks_finished_total", "", "Tasks that finished, with a result or an error.", NO_LABELS, COUNTER, source=Source.AGENT_OR_PROMETHEUS, is_scraped=True),
    Metric(TASKS_COMPUTED, "", "Tasks that were computed, by the scheduler's own counts; without data that a client scattered.", NO_LABELS, COUNTER, source=Source.AGENT_OR_PROMETHEUS, is_scraped=True),
    Metric("observatory_cluster_task_seconds_total", "seconds", "Time that all tasks took together, by action.", {"action": ("compute", "transfer")}, COUNTER, source=Source.AGENT_OR_PROMETHEUS, is_scraped=True),
    Metric("observatory_cluster_workers", "", "Workers: all, those without tasks (idle), and those with more tasks than threads (saturated).", {"state": ("total", "idle", "saturated")}, layer="cluster", kinds=("state",)),
    Metric("observatory_cluster_threads", "", "Threads of all workers together.", layer="cluster"),
    Metric("observatory_cluster_busy_threads", "", "Threads of all workers that compute a task."),
    Metric("observatory_cluster_transfer_bytes_per_second", "bytes/s", "Mean bandwidth of a transfer between workers of over 1 MB, by the type of the data, while there are any.", {"type": ()}, layer="bandwidth", source=Source.AGENT, is_rounded=True),
    Metric("observatory_cluster_clients", "", "Clients that are connected to the scheduler.", layer="scheduler"),
    Metric("observatory_scheduler_cpu_percent", "percent", "CPU use of the scheduler's process; 100 is one core.", layer="scheduler"),
    Metric("observatory_scheduler_memory_bytes", "bytes", "Memory of the scheduler's process.", layer="scheduler", source=Source.AGENT),
    Metric("observatory_scheduler_gil_contention_ratio", "ratio", "Share of time in which the scheduler's threads wait for the GIL.", layer="gil", source=Source.GILKNOCKER, is_rounded=True),
    Metric("observatory_scheduler_event_loop_interval_seconds", "seconds", "Mean time between two ticks of the scheduler's event loop; 0.02 when nothing blocks it.", layer="event-loop", is_rounded=True),
    Metric("observatory_scheduler_event_loop_own_interval_seconds", "seconds", "Mean time between two ticks of the scheduler's event loop, without the time in which it was ready to run and others had the cores. On Linux.", source=Source.AGENT, is_rounded=True),
    Metric("observatory_scheduler_queued_tasks", "", "Tasks that the scheduler holds back until a worker has a free thread.", source=Source.AGENT),
    Metric("observatory_scheduler_transitions_total", "", "Changes of tasks' states that the scheduler made.", NO_LABELS, COUNTER, layer="scheduler", source=Source.AGENT),
    Metric("observatory_prefix_memory_bytes", "bytes", "Results in memory by the prefix of their task, those that were spilled as well. Zero is reported before a prefix has any, and after.", {"prefix": ()}, layer="prefix-memory", source=Source.AGENT),
    Metric("observatory_fine_performance_total", "", "Dask's fine performance metrics: time, bytes or count of each activity of tasks.", {"context": (), "prefix": (), "activity": (), "unit": ("seconds", "bytes", "count")}, COUNTER, source=Source.AGENT, is_sent_on_change=True, kinds=("unit", "activity"), is_fraction=True),
    Metric("observatory_stealing_requests_total", "", "Tasks that the scheduler tried to move to another worker (work stealing).", LEVEL, COUNTER, source=Source.AGENT, is_sent_on_change=True),
    Metric("observatory_stealing_seconds_total", "seconds", "Expected cost of moving those tasks.", LEVEL, COUNTER, source=Source.AGENT, is_sent_on_change=True),
    Metric("observatory_disk_free_bytes", "bytes", "Free space on the disk of the data folder.", source=Source.OBSERVATORY),
    Metric("observatory_celery_queue_length", "", "Waiting Celery tasks.", source=Source.OBSERVATORY),
    Metric("observatory_celery_beat_age_seconds", "seconds", "Since Celery's last heartbeat.", source=Source.OBSERVATORY),
    Metric("observatory_project_quota_ratio", "ratio", "How much of its quota a project has used, where it has one.", {"project": ()}, source=Source.OBSERVATORY),
    Metric("observatory_refused_agents", "", "Whether batches of agents were refused in the last five minutes, unless a silent agent of a live cluster explains it.", {"reason": ("unknown-token", "revoked-token", "batch"), "project": (), "token": ()}, source=Source.OBSERVATORY),
)

_DASK = (
    Metric("dask_scheduler_clients", "", "Clients that are connected to the scheduler."),
    Metric("dask_scheduler_client_connections_added_total", "", "Clients that have connected.", NO_LABELS, COUNTER),
    Metric("dask_scheduler_client_connections_removed_total", "", "Clients that have disconnected.", NO_LABELS, COUNTER),
    Metric("dask_scheduler_desired_workers", "", "Workers that the scheduler could use for its tasks."),
    Metric("dask_scheduler_workers", "", "Workers by state.", {"state": ("idle", "partially_saturated", "saturated", "paused", "retiring")}, kinds=("state",)),
    Metric("dask_scheduler_workers_added_total", "", "Workers that have joined.", NO_LABELS, COUNTER),
    Metric("dask_scheduler_workers_removed_total", "", "Workers that have left.", NO_LABELS, COUNTER),
    Metric("dask_worker_gil_contention_seconds_total", "seconds", "Time in which a worker's threads waited for the GIL.", NO_LABELS, COUNTER, "gil", Source.GILKNOCKER, of_process=True),
    Metric("dask_scheduler_gil_contention_seconds_total", "seconds", "Time in which the scheduler's threads waited for the GIL.", NO_LABELS, COUNTER, "gil", Source.GILKNOCKER),
    Metric("dask_scheduler_gc_collection_seconds_total", "seconds", "Time that the scheduler spent in garbage collection.", NO_LABELS, COUNTER),
    Metric("dask_scheduler_last_time_total", "", "Time of the last measurement of the scheduler's system monitor, in seconds since 1970.", NO_LABELS, COUNTER, is_fraction=True),
    Metric("dask_scheduler_tasks", "", "Tasks that the scheduler knows, by state.", STATES, layer="states", kinds=("state",)),
    Metric("dask_scheduler_tasks_suspicious_total", "", "How often a task was on a worker when that worker died, by prefix.", PREFIX, COUNTER),
    Metric("dask_scheduler_tasks_forgotten_total", "", "Tasks that were forgotten because nothing needed them any more.", NO_LABELS, COUNTER),
    Metric("dask_scheduler_task_groups", "", "Task groups that the scheduler knows."),
    Metric("dask_scheduler_tasks_compute_seconds_total", "seconds", "Time spent computing, by prefix.", PREFIX, COUNTER),
    Metric("dask_scheduler_tasks_transfer_seconds_total", "seconds", "Time spent fetching dependencies from other workers, by prefix.", PREFIX, COUNTER),
    Metric("dask_scheduler_tasks_output_bytes", "bytes", "Results in memory, by prefix.", PREFIX),
    Metric("dask_scheduler_prefix_state_totals_total", "", "How often tasks entered each state, by prefix.", {**PREFIX, **STATES}, COUNTER, kinds=("state",)),
    Metric("dask_scheduler_tick_duration_maximum_seconds", "seconds", "Longest time that the scheduler's event loop was blocked between two scrapes.", layer="event-loop"),
    Metric("dask_scheduler_tick_count_total", "", "Ticks of the scheduler's event loop.", NO_LABELS, COUNTER),
    Metric("dask_stealing_request_count_total", "", "Tasks that the scheduler tried to move to another worker.", COST, COUNTER),
    Metric("dask_stealing_request_cost_total", "", "Expected cost of moving those tasks, in seconds.", COST, COUNTER, is_fraction=True),
    Metric("dask_semaphore_max_leases", "", "Leases that a semaphore has.", SEMAPHORE, layer="semaphores"),
    Metric("dask_semaphore_active_leases", "", "Leases of a semaphore in use.", SEMAPHORE, layer="semaphores"),
    Metric("dask_semaphore_pending_leases", "", "Requests that wait for a lease of a semaphore.", SEMAPHORE, layer="semaphores"),
    Metric("dask_semaphore_acquire_total", "", "Leases that were acquired.", SEMAPHORE, COUNTER),
    Metric("dask_semaphore_release_total", "", "Leases that were released.", SEMAPHORE, COUNTER),
    Metric("dask_semaphore_average_pending_lease_time_s", "", "Recent mean time to wait for a lease, in seconds.", SEMAPHORE, layer="semaphores", is_fraction=True),
    Metric("dask_worker_tasks", "", "Tasks on a worker by their state there.", {"state": (*ON_WORKER, "disk")}, kinds=("state",)),
    Metric("dask_worker_gc_collection_seconds_total", "seconds", "Time that a worker spent in garbage collection.", NO_LABELS, COUNTER, of_process=True),
    Metric("dask_worker_threads", "", "Threads of a worker."),
    Metric("dask_worker_latency_seconds", "seconds", "Round trip of a heartbeat to the scheduler."),
    Metric("dask_worker_memory_bytes", "bytes", "Memory of a worker: managed results, the rest of its process, and results on disk.", {"type": ("managed", "unmanaged", "spilled")}, kinds=("type",), of_process=True),
    Metric("dask_worker_transfer_incoming_bytes", "bytes", "Results that a worker is receiving."),
    Metric("dask_worker_transfer_incoming_count", "", "Transfers that a worker is receiving."),
    Metric("dask_worker_transfer_incoming_count_total", "", "Transfers that a worker has received.", NO_LABELS, COUNTER),
    Metric("dask_worker_transfer_outgoing_bytes", "bytes", "Results that a worker is sending."),
    Metric("dask_worker_transfer_outgoing_count", "", "Transfers that a worker is sending."),
    Metric("dask_worker_transfer_outgoing_bytes_total", "bytes", "Results that a worker has sent, including failed transfers.", NO_LABELS, COUNTER),
    Metric("dask_worker_transfer_outgoing_count_total", "", "Transfers that a worker has sent.", NO_LABELS, COUNTER),
    Metric("dask_worker_tick_duration_median_seconds", "seconds", "Median time that a worker's event loop was blocked.", source=Source.CRICK),
    Metric("dask_worker_task_duration_median_seconds", "seconds", "Median duration of a task.", source=Source.CRICK),
    Metric("dask_worker_transfer_bandwidth_median_bytes", "bytes", "Median bandwidth of a transfer, per second.", source=Source.CRICK),
    Metric("dask_worker_spill_bytes_total", "bytes", "Results that a worker read from memory or disk, or wrote to disk.", SPILL, COUNTER, kinds=("activity",)),
    Metric("dask_worker_spill_count_total", "", "How often a worker read a result from memory or disk, or wrote one to disk.", SPILL, COUNTER, kinds=("activity",)),
    Metric("dask_worker_spill_time_seconds_total", "seconds", "Time spent on spilling.", SPILL, COUNTER),
    Metric("dask_worker_tick_duration_maximum_seconds", "seconds", "Longest time that a worker's event loop was blocked between two scrapes.", layer="event-loop"),
    Metric("dask_worker_tick_count_total", "", "Ticks of a worker's event loop.", NO_LABELS, COUNTER),
)
# fmt: on

OBSERVATORY_METRICS = {metric.name: metric for metric in _OBSERVATORY}
METRICS = OBSERVATORY_METRICS | {metric.name: metric for metric in _DASK}


def computed_tasks(entered: Mapping[Any, float]) -> float:
    """How many tasks of a prefix were computed, of how often its tasks entered each state.

    Data that a client scattered is in memory, too, but has never waited.
    """
    return min(entered.get("memory", 0), entered.get("waiting", 0))
