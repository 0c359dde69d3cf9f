"""What workers reported last at a point in time beside the state, and what one of them ran then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from statistics import fmean
from typing import Any

import psycopg

from observatory.replay.progress import scraped_age
from observatory.replay.scope import Scope
from observatory.store.queries import state as store
from observatory.store.queries import timeline
from observatory.wire.records import Action
from observatory.wire.workers import gpus
from observatory.wire.workers.custom_metrics import METRIC as CUSTOM

FIGURES = {
    ("observatory_worker_event_loop_interval_seconds", ""): "event_loop",
    ("observatory_worker_file_descriptors", ""): "descriptors",
    ("observatory_worker_unmanaged_recent_bytes", ""): "unmanaged_recent",
    ("observatory_worker_host_network_bytes_per_second", "read"): "network_read",
    ("observatory_worker_host_network_bytes_per_second", "write"): "network_write",
    ("observatory_worker_host_disk_bytes_per_second", "read"): "disk_read",
    ("observatory_worker_host_disk_bytes_per_second", "write"): "disk_write",
    ("observatory_worker_transfer_bytes", "incoming"): "incoming",
    ("observatory_worker_transfer_bytes", "outgoing"): "outgoing",
    ("observatory_worker_processing_tasks", ""): "processing",
    ("observatory_worker_occupancy_seconds", ""): "occupancy",
    ("observatory_worker_gpu_memory_bytes", "used"): "gpu_memory",
    ("observatory_worker_gpu_memory_bytes", "total"): "gpu_limit",
    ("observatory_worker_gpu_utilization_percent", ""): "gpu_utilization",
    ("observatory_worker_gpu_power_watts", "used"): "gpu_power",
    ("observatory_worker_gpu_temperature_celsius", ""): "gpu_temperature",
    ("observatory_worker_rmm_memory_bytes", "used"): "rmm_memory",
}
"""names of the figures, by metric and the value of its label"""
OF_GPUS: dict[str, Callable[[list[float]], float]] = {
    "gpu_memory": sum,
    "gpu_limit": sum,
    "gpu_utilization": fmean,
    "gpu_power": sum,
    "gpu_temperature": max,
}
"""figures of which a worker with several GPUs has one of all"""
METRICS = (*dict.fromkeys(metric for metric, _ in FIGURES), CUSTOM)
MOST_SPANS = 200
"""of a worker at a time"""

Item = dict[str, Any]


def worker_figures(connection: psycopg.Connection, scope: Scope, at: int) -> list[Item]:
    """Return the API's figures of the workers at `at` (microseconds), clamped to the scope.

    A public scope uses no samples from before its window.
    """
    cluster = scope.cluster
    at = max(scope.start, min(at, scope.stop - 1))
    age = scraped_age(cluster)
    since = scope.start if scope.is_public else 0
    found: dict[int, Item] = {}
    of_gpus: defaultdict[tuple[int, str], list[float]] = defaultdict(list)
    for samples in store.last_values(connection, cluster.pk, METRICS, at, age, since):
        label = next((value for name, value in samples.labels.items() if name not in gpus.LABELS), "")
        name = FIGURES.get((samples.metric, label))
        for id, value in samples.values.items():
            if id is None:
                continue
            worker = found.setdefault(id, {**dict.fromkeys(FIGURES.values()), "id": id, "custom": {}})
            if samples.metric == CUSTOM:
                worker["custom"][scope.text(label)] = value
            elif name in OF_GPUS:
                of_gpus[id, name].append(value)
            elif name is not None:
                worker[name] = value
    for (id, name), values in of_gpus.items():
        found[id][name] = OF_GPUS[name](values)
    return list(found.values())


def running_on(connection: psycopg.Connection, scope: Scope, worker: int, at: int) -> list[Item]:
    """Return what the threads of a worker did at `at` (microseconds), by lane; none outside of the scope."""
    if not scope.start <= at < scope.stop:
        return []
    lanes = timeline.lanes_of_worker(connection, scope.cluster.pk, worker)
    spans = timeline.long_spans(connection, scope.cluster.pk, at, at + 1, 0, lanes)[:MOST_SPANS]
    return [
        {
            "lane": lane,
            "prefix": prefix,
            "action": Action(action).label,
            "start": max(start, scope.start / 1e6),
            "stop": min(stop, scope.stop / 1e6),
            "key": scope.text(key),
        }
        for lane, prefix, action, _, start, stop, _, key, _ in spans
    ]
