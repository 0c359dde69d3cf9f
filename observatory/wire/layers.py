"""The series layers: which metrics each draws. A new one is a line here and a chart in frontend/charts."""

from __future__ import annotations

LAYERS: dict[str, tuple[str, ...]] = {
    "memory": ("observatory_worker_memory_bytes",),
    "cluster-memory": ("observatory_cluster_memory_bytes", "observatory_cluster_memory_limit_bytes"),
    "cpu": ("observatory_worker_cpu_percent",),
    "gil": (
        "dask_worker_gil_contention_seconds_total",
        "dask_scheduler_gil_contention_seconds_total",
        "observatory_worker_gil_contention_ratio",
    ),
    "event-loop": (
        "observatory_worker_event_loop_interval_seconds",
        "dask_worker_tick_duration_maximum_seconds",
        "dask_scheduler_tick_duration_maximum_seconds",
    ),
    "states": ("observatory_cluster_tasks", "dask_scheduler_tasks"),
    "cluster": ("observatory_cluster_workers", "observatory_cluster_threads"),
}

LAYER_OF_METRIC: dict[str, str] = {metric: layer for layer, metrics in LAYERS.items() for metric in metrics}
