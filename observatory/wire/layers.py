"""The series layers: which metrics each draws. A new one is a line here and a chart in frontend/charts.

What is told of each worker comes in bands of 64 workers, in the order in which they were first seen: a page
asks for those whose rows are in sight. The first band of a layer bears its name, the next ones are
`memory.1`, `memory.2` …; `memory.all` is all bands together: the least, the mean and the most of all workers.
"""

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

SPANS, PREFIXES, EVENTS, PROFILE = "spans", "prefixes", "events", "profile"
OF_WORKERS = (SPANS, "memory", "cpu", "gil", "event-loop")
"""the layers that have a band for each BAND workers"""
BAND = 64
ALL = "all"


def band_layer(layer: str, band: int) -> str:
    """The name of a band of a layer."""
    return f"{layer}.{band}" if band else layer
