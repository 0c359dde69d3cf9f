# ruff: noqa: E501
"""The quantities that the form of a rule offers, in people's words. To add one, add an entry here.

The form fills a condition in from its entry, and ready-made rules take theirs from the same entries. Units are
those of the metrics (`units.unit_of`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from observatory.alerts.rules.conditions import (
    Aggregate,
    AnyCondition,
    Attribute,
    By,
    Comparison,
    EventCondition,
    Function,
    Measure,
    MetricCondition,
    RunCondition,
    Selector,
)
from observatory.alerts.rules.events import TASK_ERRED, WORKER_PAUSED
from observatory.alerts.silences.matchers import Matcher

MINUTE, HOUR = 60.0, 3600.0
WORKER_MEMORY = "observatory_worker_memory_bytes"
CLUSTER_MEMORY = "observatory_cluster_memory_bytes"
CLUSTER_LIMIT = Selector("observatory_cluster_memory_limit_bytes")
CLUSTER_TASKS = "observatory_cluster_tasks"
CLUSTER_THREADS = Selector("observatory_cluster_threads")
CLUSTER_WORKERS = "observatory_cluster_workers"
TASK_SECONDS = "observatory_cluster_task_seconds_total"
MEMORY_LIMIT, NTHREADS = Attribute.MEMORY_LIMIT, Attribute.NTHREADS
BELOW = Comparison.BELOW


@dataclass(frozen=True, slots=True)
class Quantity:
    key: str
    group: str
    name: str
    condition: AnyCondition
    """with a threshold that suits most clusters"""
    hold: float = 0.0
    """seconds for which the condition has to be true"""


def of(metric: str, function: Function = Function.VALUE, window: float = 0.0, **labels: str) -> Selector:
    """Label values with alternatives, such as `waiting|queued`, are regular expressions."""
    matchers = tuple(Matcher(label, "=~" if "|" in value else "=", value) for label, value in labels.items())
    return Selector(metric, matchers, function, window)


def each_worker(
    selector: Selector, threshold: float, clear: float | None = None, other: Attribute | None = None
) -> MetricCondition:
    """The highest value of each worker is above the threshold."""
    return MetricCondition(
        selector, By.WORKER, Aggregate.MAX, Comparison.ABOVE, threshold, clear, other=other
    )


def cluster(
    selector: Selector,
    threshold: float,
    clear: float | None = None,
    other: Selector | None = None,
    comparison: Comparison = Comparison.ABOVE,
) -> MetricCondition:
    """The sum over the whole cluster is above the threshold, or as `comparison` says."""
    return MetricCondition(selector, By.CLUSTER, Aggregate.SUM, comparison, threshold, clear, other=other)


def _task_seconds(action: str) -> Selector:
    return of(TASK_SECONDS, Function.RATE, 5 * MINUTE, action=action)


# fmt: off
_QUANTITIES = (
    Quantity("worker-memory", "Memory", "Process memory of a worker, share of its limit", each_worker(of(WORKER_MEMORY, type="process"), 0.9, 0.85, MEMORY_LIMIT), 5.0),
    Quantity("worker-unmanaged", "Memory", "Unmanaged memory of a worker, share of its limit", each_worker(of(WORKER_MEMORY, type="unmanaged"), 0.5, 0.45, MEMORY_LIMIT), 2 * MINUTE),
    Quantity("worker-managed", "Memory", "Managed memory of a worker (results), share of its limit", each_worker(of(WORKER_MEMORY, type="managed"), 0.6, 0.5, MEMORY_LIMIT), MINUTE),
    Quantity("worker-spilled", "Memory", "Results that a worker spilled to disk, share of its limit", each_worker(of(WORKER_MEMORY, type="spilled"), 0.5, 0.4, MEMORY_LIMIT), MINUTE),
    Quantity("cluster-memory", "Memory", "Process memory of all workers, share of their limits", cluster(of(CLUSTER_MEMORY, type="process"), 0.85, 0.8, CLUSTER_LIMIT), MINUTE),
    Quantity("cluster-spilled", "Memory", "Results that all workers spilled to disk, share of their limits", cluster(of(CLUSTER_MEMORY, type="spilled"), 0.2, 0.15, CLUSTER_LIMIT), MINUTE),
    Quantity("worker-cpu", "CPU, GIL and event loop", "CPU of a worker, per thread", each_worker(of("observatory_worker_cpu_percent"), 95, 90, NTHREADS), 5 * MINUTE),
    Quantity("worker-gil", "CPU, GIL and event loop", "GIL contention of a worker", each_worker(of("observatory_worker_gil_contention_ratio"), 0.6, 0.5), MINUTE),
    Quantity("worker-event-loop", "CPU, GIL and event loop", "Event loop of a worker, time between two ticks", each_worker(of("observatory_worker_event_loop_interval_seconds"), 0.5, 0.3), MINUTE),
    Quantity("scheduler-cpu", "CPU, GIL and event loop", "CPU of the scheduler", cluster(of("observatory_scheduler_cpu_percent"), 90, 80), MINUTE),
    Quantity("scheduler-event-loop", "CPU, GIL and event loop", "Event loop of the scheduler, time between two ticks", cluster(of("observatory_scheduler_event_loop_interval_seconds"), 0.05, 0.04), MINUTE),
    Quantity("worker-disk", "Disk and network", "How full the disk of a worker is", each_worker(of("observatory_worker_disk_ratio"), 0.95, 0.93), 20.0),
    Quantity("disk-writing", "Disk and network", "Disk writing of a worker's machine", each_worker(of("observatory_worker_host_disk_bytes_per_second", direction="write"), 200 * 2**20, 150 * 2**20), MINUTE),
    Quantity("transfers", "Disk and network", "Time of transfers, share of the time of computing", cluster(_task_seconds("transfer"), 1, other=_task_seconds("compute")), 2 * MINUTE),
    Quantity("gpu-memory", "GPUs", "Memory of a worker's GPU, share of all", each_worker(of("observatory_worker_gpu_memory_ratio"), 0.95, 0.9), MINUTE),
    Quantity("gpu-temperature", "GPUs", "Temperature of a worker's GPU", each_worker(of("observatory_worker_gpu_temperature_celsius"), 85, 80), MINUTE),
    Quantity("tasks-erred", "Tasks", "Tasks that erred", EventCondition(TASK_ERRED.name, By.CLUSTER, count=10, window=5 * MINUTE)),
    Quantity("tasks-queued", "Tasks", "Queued tasks", cluster(of(CLUSTER_TASKS, state="queued"), 1000, 800), 10 * MINUTE),
    Quantity("queue-growth", "Tasks", "Queued tasks: growth in a minute", cluster(of(CLUSTER_TASKS, Function.CHANGE, MINUTE, state="queued"), 0), MINUTE),
    Quantity("tasks-waiting", "Tasks", "Tasks that are waiting or queued", cluster(of(CLUSTER_TASKS, state="waiting|queued|no-worker"), 10_000, 8000), 10 * MINUTE),
    Quantity("tasks-no-worker", "Tasks", "Tasks that no worker may run (no-worker)", cluster(of(CLUSTER_TASKS, state="no-worker"), 0), MINUTE),
    Quantity("busy-threads", "Workers", "Threads that compute, share of all; the rest is idle", cluster(of("observatory_worker_tasks", state="executing"), 0.5, 0.6, CLUSTER_THREADS, BELOW), 10 * MINUTE),
    Quantity("idle-workers", "Workers", "Idle workers, share of all", cluster(of(CLUSTER_WORKERS, state="idle"), 0.5, 0.4, of(CLUSTER_WORKERS, state="total")), 10 * MINUTE),
    Quantity("workers", "Workers", "Workers of the cluster: some are missing", cluster(of(CLUSTER_WORKERS, state="total"), 1, comparison=BELOW), MINUTE),
    Quantity("worker-lost", "Workers", "Lost workers", EventCondition("worker-lost", By.WORKER, window=5 * MINUTE)),
    Quantity("worker-paused", "Workers", "Paused workers", EventCondition(WORKER_PAUSED.name, By.WORKER), 10.0),
    Quantity("run-duration", "Runs, against earlier runs of the same name", "Duration of a run: slower than usual", RunCondition(Measure.DURATION)),
    Quantity("run-new-errors", "Runs, against earlier runs of the same name", "New errors of a run: earlier ones didn't have them", RunCondition(Measure.NEW_ERRORS, threshold=0)),
    Quantity("run-errors", "Runs, against earlier runs of the same name", "Number of errors of a run: more than usual", RunCondition(Measure.ERRORS)),
    Quantity("run-memory", "Runs, against earlier runs of the same name", "Peak memory of a run: more than usual", RunCondition(Measure.MEMORY)),
    Quantity("run-compute", "Runs, against earlier runs of the same name", "Computing time of a run: more than usual", RunCondition(Measure.COMPUTE)),
    Quantity("run-transfer", "Runs, against earlier runs of the same name", "Time of transfers in a run: more than usual", RunCondition(Measure.TRANSFER, threshold=0.5)),
    Quantity("run-tasks", "Runs, against earlier runs of the same name", "Number of tasks of a run: fewer than usual", RunCondition(Measure.TASKS, BELOW, 0.2)),
)
# fmt: on

QUANTITIES = {quantity.key: quantity for quantity in _QUANTITIES}


def quantity_of(condition: AnyCondition) -> Quantity | None:
    """The quantity that a condition is on, whatever its threshold is."""
    measured = _measured(condition)
    return next((each for each in _QUANTITIES if _measured(each.condition) == measured), None)


def _measured(condition: AnyCondition) -> AnyCondition:
    """The condition without its thresholds."""
    if isinstance(condition, EventCondition):
        return replace(condition, count=1, window=0.0)
    if isinstance(condition, RunCondition):
        return RunCondition(condition.measure)
    quantile = condition.quantile if condition.aggregate is Aggregate.QUANTILE else 0.0
    return replace(
        condition, comparison=Comparison.ABOVE, threshold=0.0, clear_threshold=None, quantile=quantile
    )
