"""Rules that are there from the beginning. Their names are short: they are flags of clusters and runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.apps import apps as all_apps
from django.apps.registry import Apps
from django.db import transaction
from django.utils.timezone import now

from observatory.alerts.models import Rule, RuleMade, Severity
from observatory.alerts.rules.condition_rows import rows_of
from observatory.alerts.rules.conditions import (
    Aggregate,
    AnyCondition,
    Attribute,
    By,
    Comparison,
    EventCondition,
    Function,
    MetricCondition,
    NoData,
    Selector,
)
from observatory.alerts.rules.events import KILLED_WORKER, TASK_ERRED, UNREACHABLE, WORKER_PAUSED
from observatory.alerts.silences.matchers import Matcher

MINUTE, HOUR = 60.0, 3600.0
WORKER_MEMORY = "observatory_worker_memory_bytes"
CLUSTER_MEMORY = "observatory_cluster_memory_bytes"
CLUSTER_LIMIT = Selector("observatory_cluster_memory_limit_bytes")
CLUSTER_TASKS = "observatory_cluster_tasks"
TASK_SECONDS = "observatory_cluster_task_seconds_total"


@dataclass(frozen=True, slots=True)
class ReadyMade:
    key: str
    name: str
    severity: Severity
    description: str
    """what it means, and what has to be there for it"""
    advice: str
    message: str
    conditions: tuple[AnyCondition, ...]
    hold: float = 0.0

    def fields(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "severity": self.severity,
            "description": self.description,
            "advice": self.advice,
            "message": self.message,
            "hold_seconds": self.hold,
        }


def _of(metric: str, function: Function = Function.VALUE, window: float = 0.0, **labels: str) -> Selector:
    """Labels that are told alternatives, as `waiting|queued`, are regular expressions."""
    matchers = tuple(Matcher(label, "=~" if "|" in value else "=", value) for label, value in labels.items())
    return Selector(metric, matchers, function, window)


def _each_worker(
    selector: Selector, threshold: float, clear: float | None = None, divisor: Attribute | None = None
) -> MetricCondition:
    return MetricCondition(
        selector, By.WORKER, Aggregate.MAX, Comparison.ABOVE, threshold, clear, divisor=divisor
    )


def _cluster(
    selector: Selector,
    threshold: float,
    clear: float | None = None,
    divisor: Selector | None = None,
    comparison: Comparison = Comparison.ABOVE,
) -> MetricCondition:
    return MetricCondition(selector, By.CLUSTER, Aggregate.SUM, comparison, threshold, clear, divisor=divisor)


RULES = (
    ReadyMade(
        "cluster-memory",
        "Memory pressure",
        Severity.WARNING,
        "All workers together use over 85 % of the memory that they may, so that they spill to disk or "
        "pause.",
        "Use more workers, or ones with more memory; make partitions smaller; don't keep results that "
        "nobody needs (persist).",
        "{cluster}: its workers use {value} of their memory",
        (_cluster(_of(CLUSTER_MEMORY, type="process"), 0.85, 0.8, CLUSTER_LIMIT),),
        MINUTE,
    ),
    ReadyMade(
        "worker-memory",
        "Worker memory",
        Severity.WARNING,
        "A worker uses over 90 % of its memory limit; its nanny kills it at 95 %, with all results that it "
        "has.",
        "Look at what it computed then and at its unmanaged memory: make partitions smaller, run fewer "
        "threads a worker, or give workers more memory.",
        "{cluster}: {worker} uses {value} of its memory limit",
        (_each_worker(_of(WORKER_MEMORY, type="process"), 0.9, 0.85, Attribute.MEMORY_LIMIT),),
        5.0,
    ),
    ReadyMade(
        "disk-usage",
        "Disk usage",
        Severity.CRITICAL,
        "The disk that a worker spills to is over 95 % full; tasks fail once there is no room for results. "
        "Needs the agent.",
        "Give the workers a larger disk (local_directory, or distributed's temporary-directory), or spill "
        "less.",
        "{cluster}: the disk of {worker} is {value} full",
        (_each_worker(_of("observatory_worker_disk_ratio"), 0.95, 0.93),),
        20.0,
    ),
    ReadyMade(
        "unmanaged-memory",
        "Unmanaged memory",
        Severity.WARNING,
        "Over half of a worker's memory limit is taken by what Dask doesn't manage: libraries, leaks, "
        "memory that wasn't given back, or tasks that need much while they run.",
        "Look for references that tasks keep, and for how large one task gets; trim memory "
        "(MALLOC_TRIM_THRESHOLD_), or restart workers now and then (lifetime).",
        "{cluster}: unmanaged memory of {worker} is {value} of its limit",
        (_each_worker(_of(WORKER_MEMORY, type="unmanaged"), 0.5, 0.45, Attribute.MEMORY_LIMIT),),
        2 * MINUTE,
    ),
    ReadyMade(
        "spilling",
        "Spilling",
        Severity.WARNING,
        "Results of over a fifth of the cluster's memory lie on disk; reading them back takes far longer "
        "than from memory.",
        "Use more workers or ones with more memory, and smaller partitions; persist less at once.",
        "{cluster}: what its workers spilled is {value} of their memory",
        (_cluster(_of(CLUSTER_MEMORY, type="spilled"), 0.2, 0.15, CLUSTER_LIMIT),),
        MINUTE,
    ),
    ReadyMade(
        "worker-paused",
        "Worker paused",
        Severity.WARNING,
        "A worker begins no more tasks, since its memory is nearly full (80 % of its limit). Without the "
        "agent a cluster tells it only while it isn't busy.",
        "Look at its memory: if it doesn't fall by itself, results are too large or something leaks.",
        "{cluster}: {worker} is paused",
        (EventCondition(WORKER_PAUSED.name, By.WORKER),),
        10.0,
    ),
    ReadyMade(
        "worker-lost",
        "Worker lost",
        Severity.WARNING,
        "A worker went away without saying so: it was killed, or its machine or connection failed. What it "
        "had is computed again.",
        "Look at its last minute: its memory, its nanny's log, and whether its machine was taken away "
        "(spot instances).",
        "{cluster}: {worker} was lost: {text}",
        (EventCondition("worker-lost", By.WORKER, window=5 * MINUTE),),
    ),
    ReadyMade(
        "killed-worker",
        "KilledWorker",
        Severity.CRITICAL,
        "Dask gave up a task, since several workers in a row died while they had it. Needs the agent.",
        "Look at what the error's page shows of those workers' memory: most often the task needs more than "
        "they have.",
        "{cluster}: a task was given up (KilledWorker): {text}",
        (EventCondition(KILLED_WORKER.name, By.CLUSTER, window=10 * MINUTE),),
    ),
    ReadyMade(
        "task-errors",
        "Task errors",
        Severity.WARNING,
        "Ten tasks or more erred within five minutes.",
        "Look at the errors by type; if they come from outside (a network, a store), let tasks retry "
        "(retries=).",
        "{cluster}: {value} tasks erred in five minutes: {text}",
        (EventCondition(TASK_ERRED.name, By.CLUSTER, count=10, window=5 * MINUTE),),
    ),
    ReadyMade(
        "event-loop",
        "Event loop blocked",
        Severity.WARNING,
        "A worker's event loop comes round less than twice a second, so that it answers late, and may be "
        "taken for lost.",
        "Look at the profile of the event loop, and for tasks that hold Python's lock (GIL) for long: "
        "custom serialization, regular expressions, pure Python on large data.",
        "{cluster}: the event loop of {worker} comes round each {value}",
        (_each_worker(_of("observatory_worker_event_loop_interval_seconds"), 0.5, 0.3),),
        MINUTE,
    ),
    ReadyMade(
        "gil-contention",
        "GIL contention",
        Severity.INFO,
        "A worker's threads wait for Python's lock (GIL) over 60 % of the time. Needs gilknocker on the "
        "workers.",
        "Use more workers with fewer threads each, or code that releases the lock (NumPy, pandas, Arrow).",
        "{cluster}: threads of {worker} wait for the GIL {value} of the time",
        (_each_worker(_of("observatory_worker_gil_contention_ratio"), 0.6, 0.5),),
        MINUTE,
    ),
    ReadyMade(
        "scheduler-saturated",
        "Scheduler saturated",
        Severity.WARNING,
        "The scheduler uses a whole core and its event loop lags, so that workers wait for it. Needs the "
        "agent, or prometheus_client beside the scheduler.",
        "Make fewer and larger tasks (under about a thousand a second), and smaller graphs.",
        "{cluster}: its scheduler uses {value} CPU and lags",
        (
            _cluster(_of("observatory_scheduler_cpu_percent"), 90, 80),
            _cluster(_of("observatory_scheduler_event_loop_interval_seconds"), 0.05, 0.04),
        ),
        MINUTE,
    ),
    ReadyMade(
        "idle-cluster",
        "Idle cluster",
        Severity.INFO,
        "For an hour there was nothing to compute, while workers are up and perhaps paid for.",
        "Close it, or let it scale by itself (adapt), or close when idle (distributed.scheduler.idle- "
        "timeout).",
        "{cluster}: idle for an hour with {value} workers",
        (
            _cluster(_of("observatory_cluster_workers", state="total"), 0),
            _cluster(
                _of(CLUSTER_TASKS, state="waiting|queued|no-worker|processing"),
                0,
                comparison=Comparison.AT_MOST,
            ),
        ),
        HOUR,
    ),
    ReadyMade(
        "no-progress",
        "No progress",
        Severity.WARNING,
        "Tasks wait, and for fifteen minutes none has finished. Needs the agent, or prometheus_client "
        "beside the scheduler.",
        "Look at whether there are workers for what tasks ask for (resources, memory), whether they are "
        "paused, and what they do (profile). Where tasks take that long, raise the time.",
        "{cluster}: {value} tasks wait and none has finished for fifteen minutes",
        (
            _cluster(_of(CLUSTER_TASKS, state="waiting|queued|no-worker"), 0),
            _cluster(
                _of("observatory_cluster_tasks_finished_total", Function.CHANGE, MINUTE),
                0,
                comparison=Comparison.AT_MOST,
            ),
        ),
        15 * MINUTE,
    ),
    ReadyMade(
        "unreachable",
        "Unreachable",
        Severity.CRITICAL,
        "The scheduler of a target doesn't answer: it hangs, or its machine or the network does.",
        "Look at its log and its load; until it answers, all that it does is unknown.",
        "{cluster}: the scheduler doesn't answer",
        (EventCondition(UNREACHABLE.name, By.CLUSTER),),
        30.0,
    ),
    ReadyMade(
        "transfers",
        "Transfers",
        Severity.INFO,
        "Workers spend more time fetching results from each other than computing. Needs the agent, or "
        "prometheus_client beside the scheduler.",
        "Use fewer and larger workers, larger tasks, and fewer shuffles; keep together what belongs "
        "together.",
        "{cluster}: transfers take {value} of the time of computing",
        (
            _cluster(
                _of(TASK_SECONDS, Function.RATE, 5 * MINUTE, action="transfer"),
                1,
                divisor=_of(TASK_SECONDS, Function.RATE, 5 * MINUTE, action="compute"),
            ),
            _cluster(_of(TASK_SECONDS, Function.RATE, 5 * MINUTE, action="transfer"), 0.5),
        ),
        2 * MINUTE,
    ),
)

BY_KEY = {rule.key: rule for rule in RULES}


def make_after_migrations(apps: Apps = all_apps, **_: Any) -> None:
    """Of Django's signal; does nothing where the tables are gone."""
    with suppress(LookupError):
        apps.get_model("alerts", "RuleMade")
        make()


def make() -> None:
    """Makes those that were never made; people may have changed or deleted the others."""
    made = set(RuleMade.objects.values_list("key", flat=True))
    for ready_made in RULES:
        if ready_made.key not in made:
            _make(ready_made)


@transaction.atomic
def _make(ready_made: ReadyMade) -> None:
    _, is_new = RuleMade.objects.get_or_create(key=ready_made.key)
    if is_new:
        fields = ready_made.fields() | {"name": _free_name(ready_made.name)}
        rule = Rule.objects.create(key=ready_made.key, **fields)
        _ask(rule, ready_made)


def reset(rule: Rule) -> None:
    """Makes a ready-made rule ask and say again what it did at first; where it is asked stays."""
    ready_made = BY_KEY[rule.key]
    with transaction.atomic():
        for name, value in ready_made.fields().items():
            setattr(rule, name, value)
        rule.name = _free_name(ready_made.name, besides=rule)
        rule.no_data = NoData.RESOLVE
        rule.changed = now()
        rule.error, rule.error_time = "", None
        rule.save()
        rule.conditions.all().delete()
        _ask(rule, ready_made)


def _ask(rule: Rule, ready_made: ReadyMade) -> None:
    for row in rows_of(ready_made.conditions):
        row.rule = rule
        row.save()


def _free_name(name: str, besides: Rule | None = None) -> str:
    """The name, or another where people gave it to a rule of theirs."""
    others = Rule.objects.exclude(pk=besides.pk) if besides else Rule.objects.all()
    return f"{name} (ready-made)" if others.filter(name=name).exists() else name
