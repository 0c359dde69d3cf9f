"""What our own metrics and Dask's mean. Those of others say it themselves (`# HELP`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from observatory.wire.records import TASK_STATES, MetricType

GAUGE, COUNTER = MetricType.GAUGE, MetricType.COUNTER


@dataclass(frozen=True, slots=True)
class Described:
    help: str
    type: MetricType = GAUGE
    of_workers: bool = False
    of_cluster: bool = False
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """with the values that are known beforehand"""


Labels = Mapping[str, tuple[str, ...]]


def _worker(help: str, labels: Labels | None = None, type: MetricType = GAUGE) -> Described:
    return Described(help, type, of_workers=True, labels=labels or {})


def _cluster(help: str, labels: Labels | None = None, type: MetricType = GAUGE) -> Described:
    return Described(help, type, of_cluster=True, labels=labels or {})


MEMORY = {"type": ("process", "managed", "unmanaged", "spilled")}
READ_WRITE = {"direction": ("read", "write")}
IN_OUT = {"direction": ("incoming", "outgoing")}
STATES = {"state": tuple(state for state in TASK_STATES if state != "forgotten")}
PREFIX: Labels = {"task_prefix_name": ()}
SPILL = {"activity": ("memory_read", "disk_read", "disk_write", "pickle", "unpickle")}
LEVEL: Labels = {"cost_multiplier": ()}
SEMAPHORE: Labels = {"name": ()}

OURS = {
    "observatory_worker_memory_bytes": _worker(
        "Memory of a worker: of its process; of that, results of tasks that Dask manages, and the rest; "
        "and results that it moved to disk.",
        MEMORY,
    ),
    "observatory_worker_cpu_percent": _worker("CPU that a worker's process uses; 100 is one core."),
    "observatory_worker_gil_contention_ratio": _worker(
        "Share of time in which a worker's threads wait for Python's lock (GIL). Needs gilknocker there."
    ),
    "observatory_worker_event_loop_interval_seconds": _worker(
        "Mean time between two ticks of a worker's event loop; 0.02 when nothing holds it up."
    ),
    "observatory_worker_host_network_bytes_per_second": _worker(
        "Traffic of a worker's machine, whoever causes it.", READ_WRITE
    ),
    "observatory_worker_host_disk_bytes_per_second": _worker(
        "Disk accesses of a worker's machine, whoever causes them.", READ_WRITE
    ),
    "observatory_worker_transfer_bytes": _worker("Results on their way to or from other workers.", IN_OUT),
    "observatory_worker_tasks": _worker(
        "Tasks on a worker by what they do there.",
        {"state": ("executing", "waiting", "ready", "constrained", "fetch", "flight", "memory")},
    ),
    "observatory_worker_file_descriptors": _worker("Open files and connections of a worker's process."),
    "observatory_worker_disk_ratio": _worker(
        "How full the disk is that a worker spills to: 1 is full. Needs the agent."
    ),
    "observatory_worker_processing_tasks": _worker("Tasks that were given to a worker. Needs the agent."),
    "observatory_worker_occupancy_seconds": _worker(
        "How long the scheduler expects a worker to be busy with what it was given. Needs the agent."
    ),
    "observatory_cluster_tasks": _cluster("Tasks that the scheduler knows, by state.", STATES),
    "observatory_cluster_tasks_finished_total": _cluster(
        "Tasks that came to a result or an error. "
        "Needs the agent, or prometheus_client beside the scheduler.",
        type=COUNTER,
    ),
    "observatory_cluster_task_seconds_total": _cluster(
        "Time that all tasks took together, by what they did. "
        "Needs the agent, or prometheus_client beside the scheduler.",
        {"action": ("compute", "transfer")},
        COUNTER,
    ),
    "observatory_cluster_workers": _cluster(
        "Workers, those with nothing to do, and those that have more than they can start at once.",
        {"state": ("total", "idle", "saturated")},
    ),
    "observatory_cluster_threads": _cluster("Threads of all workers together."),
    "observatory_cluster_clients": _cluster("Clients that are connected to the scheduler."),
    "observatory_cluster_memory_bytes": _cluster("Memory of all workers together.", MEMORY),
    "observatory_cluster_memory_limit_bytes": _cluster("Memory limits of all workers together."),
    "observatory_scheduler_cpu_percent": _cluster("CPU that the scheduler's process uses; 100 is one core."),
    "observatory_scheduler_memory_bytes": _cluster("Memory of the scheduler's process. Needs the agent."),
    "observatory_scheduler_gil_contention_ratio": _cluster(
        "Share of time in which the scheduler's threads wait for Python's lock. Needs gilknocker there."
    ),
    "observatory_scheduler_event_loop_interval_seconds": _cluster(
        "Mean time between two ticks of the scheduler's event loop; 0.02 when nothing holds it up."
    ),
    "observatory_scheduler_queued_tasks": _cluster(
        "Tasks that the scheduler keeps back until a worker has a thread for them. Needs the agent."
    ),
    "observatory_prefix_memory_bytes": _cluster(
        "Results in memory by prefix of the tasks that made them. Needs the agent.", {"prefix": ()}
    ),
    "observatory_fine_performance_total": _cluster(
        "Dask's fine performance metrics: how long (or how much) each activity of tasks took. "
        "Needs the agent.",
        {"context": (), "prefix": (), "activity": (), "unit": ("seconds", "bytes", "count")},
        COUNTER,
    ),
    "observatory_stealing_requests_total": _cluster(
        "Tasks that the scheduler tried to move to another worker. Needs the agent.", {"level": ()}, COUNTER
    ),
    "observatory_stealing_seconds_total": _cluster(
        "What moving those tasks was expected to cost. Needs the agent.", {"level": ()}, COUNTER
    ),
    "observatory_shuffle_bytes": _cluster(
        "What a P2P shuffle has moved. Needs the agent.",
        {"shuffle": (), "medium": ("comm", "disk"), "what": ()},
    ),
}

DASK = {
    "dask_scheduler_clients": _cluster("Clients that are connected to the scheduler."),
    "dask_scheduler_client_connections_added_total": _cluster("Clients that have connected.", type=COUNTER),
    "dask_scheduler_client_connections_removed_total": _cluster(
        "Clients that have disconnected.", type=COUNTER
    ),
    "dask_scheduler_desired_workers": _cluster("Workers that the scheduler could use for its tasks."),
    "dask_scheduler_workers": _cluster(
        "Workers by what they can do now.",
        {"state": ("idle", "partially_saturated", "saturated", "paused", "retiring")},
    ),
    "dask_scheduler_workers_added_total": _cluster("Workers that have joined.", type=COUNTER),
    "dask_scheduler_workers_removed_total": _cluster("Workers that have left.", type=COUNTER),
    "dask_scheduler_gil_contention_seconds_total": _cluster(
        "Time in which the scheduler's threads waited for Python's lock. Needs gilknocker there.",
        type=COUNTER,
    ),
    "dask_scheduler_gc_collection_seconds_total": _cluster(
        "Time that the scheduler spent collecting garbage.", type=COUNTER
    ),
    "dask_scheduler_last_time_total": _cluster(
        "When the scheduler's monitor measured last, in seconds since 1970.", type=COUNTER
    ),
    "dask_scheduler_tasks": _cluster("Tasks that the scheduler knows, by state.", STATES),
    "dask_scheduler_tasks_suspicious_total": _cluster(
        "How often a task was on a worker when it died, by prefix.", PREFIX, COUNTER
    ),
    "dask_scheduler_tasks_forgotten_total": _cluster("Tasks that nobody needed any more.", type=COUNTER),
    "dask_scheduler_task_groups": _cluster("Groups of tasks that the scheduler knows."),
    "dask_scheduler_tasks_compute_seconds_total": _cluster(
        "Time spent computing, by prefix.", PREFIX, COUNTER
    ),
    "dask_scheduler_tasks_transfer_seconds_total": _cluster(
        "Time spent fetching what tasks need from other workers, by prefix.", PREFIX, COUNTER
    ),
    "dask_scheduler_tasks_output_bytes": _cluster("Results in memory, by prefix.", PREFIX),
    "dask_scheduler_prefix_state_totals_total": _cluster(
        "How often tasks came into each state, by prefix.", {**PREFIX, **STATES}, COUNTER
    ),
    "dask_scheduler_tick_duration_maximum_seconds": _cluster(
        "How long the scheduler's event loop was held up at most between two scrapes."
    ),
    "dask_scheduler_tick_count_total": _cluster("Ticks of the scheduler's event loop.", type=COUNTER),
    "dask_stealing_request_count_total": _cluster(
        "Tasks that the scheduler tried to move to another worker.", LEVEL, COUNTER
    ),
    "dask_stealing_request_cost_total": _cluster(
        "What moving those tasks was expected to cost, in seconds.", LEVEL, COUNTER
    ),
    "dask_semaphore_max_leases": _cluster("Leases that a semaphore has.", SEMAPHORE),
    "dask_semaphore_active_leases": _cluster("Leases of a semaphore that are held.", SEMAPHORE),
    "dask_semaphore_pending_leases": _cluster("Leases of a semaphore that are waited for.", SEMAPHORE),
    "dask_semaphore_acquire_total": _cluster("Leases that were taken.", SEMAPHORE, COUNTER),
    "dask_semaphore_release_total": _cluster("Leases that were given back.", SEMAPHORE, COUNTER),
    "dask_semaphore_average_pending_lease_time_s": _cluster(
        "How long a lease was waited for lately.", SEMAPHORE
    ),
    "dask_worker_tasks": _worker(
        "Tasks on a worker by what they do there.",
        {"state": ("executing", "waiting", "ready", "constrained", "fetch", "flight", "memory", "disk")},
    ),
    "dask_worker_gil_contention_seconds_total": _worker(
        "Time in which a worker's threads waited for Python's lock. Needs gilknocker there.", type=COUNTER
    ),
    "dask_worker_gc_collection_seconds_total": _worker(
        "Time that a worker spent collecting garbage.", type=COUNTER
    ),
    "dask_worker_threads": _worker("Threads of a worker."),
    "dask_worker_latency_seconds": _worker("How long a heartbeat to the scheduler and back takes."),
    "dask_worker_memory_bytes": _worker(
        "Memory of a worker: results of tasks, the rest of its process, and results on disk.",
        {"type": ("managed", "unmanaged", "spilled")},
    ),
    "dask_worker_transfer_incoming_bytes": _worker("Results that a worker is receiving."),
    "dask_worker_transfer_incoming_count": _worker("Transfers that a worker is receiving."),
    "dask_worker_transfer_incoming_count_total": _worker(
        "Transfers that a worker has received.", type=COUNTER
    ),
    "dask_worker_transfer_outgoing_bytes": _worker("Results that a worker is sending."),
    "dask_worker_transfer_outgoing_count": _worker("Transfers that a worker is sending."),
    "dask_worker_transfer_outgoing_bytes_total": _worker(
        "Results that a worker has sent, failed transfers included.", type=COUNTER
    ),
    "dask_worker_transfer_outgoing_count_total": _worker("Transfers that a worker has sent.", type=COUNTER),
    "dask_worker_tick_duration_median_seconds": _worker(
        "Usual time that a worker's event loop is held up. Needs crick there."
    ),
    "dask_worker_task_duration_median_seconds": _worker("Usual duration of a task. Needs crick there."),
    "dask_worker_transfer_bandwidth_median_bytes": _worker(
        "Usual speed of a transfer, per second. Needs crick there."
    ),
    "dask_worker_spill_bytes_total": _worker(
        "Results that a worker read from memory or disk, or wrote to disk.", SPILL, COUNTER
    ),
    "dask_worker_spill_count_total": _worker(
        "How often a worker read a result from memory or disk, or wrote one to disk.", SPILL, COUNTER
    ),
    "dask_worker_spill_time_seconds_total": _worker("Time that spilling took.", SPILL, COUNTER),
    "dask_worker_tick_duration_maximum_seconds": _worker(
        "How long a worker's event loop was held up at most between two scrapes."
    ),
    "dask_worker_tick_count_total": _worker("Ticks of a worker's event loop.", type=COUNTER),
}

DESCRIBED = OURS | DASK
