"""The ready-made rules. Their names are short, because clusters and runs show them as flags."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.apps import apps as all_apps
from django.apps.registry import Apps
from django.db import transaction

from observatory.alerts.models import Rule, RuleMade, Severity
from observatory.alerts.rules.condition_rows import rows_of
from observatory.alerts.rules.conditions import (
    AnyCondition,
    By,
    Comparison,
    EventCondition,
    Function,
    Measure,
    RunCondition,
)
from observatory.alerts.rules.events import KILLED_WORKER, UNREACHABLE
from observatory.alerts.rules.own_rules import OWN_RULES
from observatory.alerts.rules.quantities import (
    CLUSTER_TASKS,
    CLUSTER_WORKERS,
    HOUR,
    MINUTE,
    QUANTITIES,
    TASK_SECONDS,
    cluster,
    of,
)
from observatory.alerts.rules.ready_made_rule import ReadyMade


def _of_quantity(key: str) -> tuple[tuple[AnyCondition], float]:
    """The condition and the hold time of a quantity."""
    quantity = QUANTITIES[key]
    return (quantity.condition,), quantity.hold


RULES = (
    ReadyMade(
        "cluster-memory",
        "Memory pressure",
        Severity.WARNING,
        "All workers together use over 85 % of their memory limits, so that they spill to disk or pause.",
        "Use more workers or workers with more memory, use smaller partitions, and don't persist results "
        "that aren't needed.",
        "{cluster}: its workers use {value} of their memory",
        *_of_quantity("cluster-memory"),
    ),
    ReadyMade(
        "worker-memory",
        "Worker memory",
        Severity.WARNING,
        "A worker uses over 90 % of its memory limit; its nanny kills it at 95 %, and its results are lost.",
        "Look at the tasks that it ran and at its unmanaged memory. Use smaller partitions, fewer threads "
        "per worker, or workers with more memory.",
        "{cluster}: {worker} uses {value} of its memory limit",
        *_of_quantity("worker-memory"),
    ),
    ReadyMade(
        "disk-usage",
        "Disk usage",
        Severity.CRITICAL,
        "The disk that a worker spills to is over 95 % full; tasks fail when it is full. Needs the agent.",
        "Give the workers a larger disk (local_directory, or distributed's temporary-directory), or spill "
        "less.",
        "{cluster}: the disk of {worker} is {value} full",
        *_of_quantity("worker-disk"),
    ),
    ReadyMade(
        "unmanaged-memory",
        "Unmanaged memory",
        Severity.WARNING,
        "Over half of a worker's memory limit is unmanaged: used by libraries or leaks, not "
        "returned to the system, or needed by running tasks.",
        "Look for references that tasks keep, and for large single tasks. Trim memory "
        "(MALLOC_TRIM_THRESHOLD_), or restart workers regularly (lifetime).",
        "{cluster}: unmanaged memory of {worker} is {value} of its limit",
        *_of_quantity("worker-unmanaged"),
    ),
    ReadyMade(
        "spilling",
        "Spilling",
        Severity.WARNING,
        "Results of the size of over 20 % of the cluster's memory are on disk; reading them back is far "
        "slower than from memory.",
        "Use more workers or workers with more memory, use smaller partitions, and persist less at once.",
        "{cluster}: spilled results are {value} of its workers' memory",
        *_of_quantity("cluster-spilled"),
    ),
    ReadyMade(
        "worker-paused",
        "Worker paused",
        Severity.WARNING,
        "A worker starts no tasks, because its memory is nearly full (80 % of its limit). Without the "
        "agent this is only visible while the cluster isn't busy.",
        "Look at its memory. If it doesn't fall by itself, results are too large or memory leaks.",
        "{cluster}: {worker} is paused",
        *_of_quantity("worker-paused"),
    ),
    ReadyMade(
        "worker-lost",
        "Worker lost",
        Severity.WARNING,
        "A worker was killed, or its machine or connection failed. Its results are computed again. Without "
        "the agent a worker that disappeared for an unknown reason counts, too. One that was retired, was "
        "restarted or reached its lifetime doesn't.",
        "Look at its memory in the last minute, at its nanny's log, and whether its machine was reclaimed "
        "(spot instances).",
        "{cluster}: {text}",
        *_of_quantity("worker-lost"),
    ),
    ReadyMade(
        "killed-worker",
        "KilledWorker",
        Severity.CRITICAL,
        "Dask failed a task because several workers in a row died while they had it. Needs the agent.",
        "Look at those workers' memory on the error's page: most often the task needs more than they have.",
        "{cluster}: a task failed (KilledWorker): {text}",
        (EventCondition(KILLED_WORKER.name, By.CLUSTER, window=10 * MINUTE),),
    ),
    ReadyMade(
        "task-errors",
        "Task errors",
        Severity.WARNING,
        "Ten tasks or more erred within five minutes.",
        "Look at the errors by type. If they have an outside cause (network, storage), let tasks retry "
        "(retries=).",
        "{cluster}: {value} tasks erred in five minutes: {text}",
        *_of_quantity("tasks-erred"),
    ),
    ReadyMade(
        "event-loop",
        "Event loop blocked",
        Severity.WARNING,
        "A worker's event loop ticks less than twice a second, so that the worker responds late and may be "
        "considered lost.",
        "Look at the profile of the event loop, and for tasks that hold the GIL for long: custom "
        "serialization, regular expressions, pure Python on large data.",
        "{cluster}: the event loop of {worker} ticks every {value}",
        *_of_quantity("worker-event-loop"),
    ),
    ReadyMade(
        "gil-contention",
        "GIL contention",
        Severity.INFO,
        "A worker's threads wait for the GIL over 60 % of the time. Needs gilknocker on the workers.",
        "Use more workers with fewer threads each, or code that releases the GIL (NumPy, pandas, Arrow).",
        "{cluster}: threads of {worker} wait for the GIL {value} of the time",
        *_of_quantity("worker-gil"),
    ),
    ReadyMade(
        "scheduler-saturated",
        "Scheduler saturated",
        Severity.WARNING,
        "The scheduler uses a whole core and its event loop lags, so that workers wait for it. Needs the "
        "agent, or prometheus_client on the scheduler.",
        "Make fewer and larger tasks (under about a thousand a second), and smaller graphs.",
        "{cluster}: the scheduler uses {value} CPU and lags",
        (
            QUANTITIES["scheduler-cpu"].condition,
            QUANTITIES["scheduler-event-loop"].condition,
        ),
        MINUTE,
    ),
    ReadyMade(
        "idle-cluster",
        "Idle cluster",
        Severity.INFO,
        "The cluster had nothing to compute for an hour while its workers were running.",
        "Close it, let it scale adaptively (adapt), or close it when idle "
        "(distributed.scheduler.idle-timeout).",
        "{cluster}: idle for an hour with {value} workers",
        (
            cluster(of(CLUSTER_WORKERS, state="total"), 0),
            cluster(
                of(CLUSTER_TASKS, state="waiting|queued|no-worker|processing"),
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
        "Tasks are waiting, and none has finished for fifteen minutes. Needs the agent, or "
        "prometheus_client on the scheduler.",
        "Check whether workers have the resources that tasks require, whether they are paused, and what "
        "they do (profile). If your tasks take that long, increase the time.",
        "{cluster}: {value} tasks are waiting and none has finished for fifteen minutes",
        (
            cluster(of(CLUSTER_TASKS, state="waiting|queued|no-worker"), 0),
            cluster(
                of("observatory_cluster_tasks_finished_total", Function.CHANGE, MINUTE),
                0,
                comparison=Comparison.AT_MOST,
            ),
        ),
        15 * MINUTE,
    ),
    ReadyMade(
        "queue-idle",
        "Queue with idle workers",
        Severity.WARNING,
        "The queue of tasks grew for a minute while workers were idle: something keeps them from the tasks.",
        "Check whether tasks require resources or workers that the idle ones aren't, and whether workers are "
        "paused or the scheduler is saturated.",
        "{cluster}: the queue grew by {value} tasks in a minute while workers were idle",
        (
            QUANTITIES["queue-growth"].condition,
            cluster(of(CLUSTER_WORKERS, state="idle"), 0),
        ),
        MINUTE,
    ),
    ReadyMade(
        "no-worker",
        "No worker for tasks",
        Severity.CRITICAL,
        "For a minute there were tasks that no worker may run: there is none, or none has the resources, "
        "the name or the host that they require.",
        "Start workers, or compare the tasks' resources= and workers= with those of the workers.",
        "{cluster}: no worker may run {value} tasks",
        *_of_quantity("tasks-no-worker"),
    ),
    ReadyMade(
        "scheduler-blocked",
        "Scheduler blocked",
        Severity.CRITICAL,
        "The scheduler's event loop ticks less than twice a second, so that clients and workers time out. "
        "Needs the agent, or prometheus_client on the scheduler.",
        "Submit smaller graphs and larger tasks, don't send large objects in graphs, and look at the "
        "scheduler's plugins.",
        "{cluster}: the event loop of the scheduler ticks every {value}",
        (cluster(of("observatory_scheduler_event_loop_interval_seconds"), 0.5, 0.3),),
        30.0,
    ),
    ReadyMade(
        "new-errors",
        "New errors",
        Severity.WARNING,
        "A run had errors that the last ten runs of its name didn't have. Needs the agent.",
        "Look at the errors of the run, and compare it with the one before: versions, tags, data.",
        "{cluster}: {text}",
        *_of_quantity("run-new-errors"),
    ),
    ReadyMade(
        "slower-run",
        "Slower run",
        Severity.INFO,
        "A run took over 50 % longer than the median of the last ten finished runs of its name.",
        "Compare it with the run before: the comparison says which prefixes are slower.",
        "{cluster}: {text}",
        (RunCondition(Measure.DURATION, threshold=0.5),),
    ),
    ReadyMade(
        "unreachable",
        "Unreachable",
        Severity.CRITICAL,
        "The scheduler of a target doesn't answer: it hangs, or its machine or the network failed.",
        "Look at its log and its load. Nothing is recorded until it answers.",
        "{cluster}: the scheduler doesn't answer",
        (EventCondition(UNREACHABLE.name, By.CLUSTER),),
        30.0,
    ),
    ReadyMade(
        "transfers",
        "Transfers",
        Severity.INFO,
        "Workers spend more time fetching results from each other than computing. Needs the agent, or "
        "prometheus_client on the scheduler.",
        "Use fewer and larger workers, larger tasks and fewer shuffles, and compute related data together.",
        "{cluster}: transfers take {value} of the compute time",
        (
            QUANTITIES["transfers"].condition,
            cluster(of(TASK_SECONDS, Function.RATE, 5 * MINUTE, action="transfer"), 0.5),
        ),
        2 * MINUTE,
    ),
    *OWN_RULES,
)

BY_KEY = {rule.key: rule for rule in RULES}


def make_after_migrations(apps: Apps = all_apps, **_: Any) -> None:
    """Handles Django's post_migrate signal; does nothing if the tables were removed."""
    with suppress(LookupError):
        apps.get_model("alerts", "RuleMade")
        make()


def make() -> None:
    """Creates the ready-made rules that were never created. Users may have changed or deleted others."""
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
        _add_conditions(rule, ready_made)


def reset(rule: Rule) -> None:
    """Restores a ready-made rule's conditions and texts. Its scope stays."""
    ready_made = BY_KEY[rule.key]
    with transaction.atomic():
        for name, value in ready_made.fields().items():
            setattr(rule, name, value)
        rule.name = _free_name(ready_made.name, besides=rule)
        rule.restart_evaluation()
        rule.save()
        rule.conditions.all().delete()
        _add_conditions(rule, ready_made)


def _add_conditions(rule: Rule, ready_made: ReadyMade) -> None:
    for row in rows_of(ready_made.conditions):
        row.rule = rule
        row.save()


def _free_name(name: str, besides: Rule | None = None) -> str:
    """The name, or a variant if another rule has it."""
    others = Rule.objects.exclude(pk=besides.pk) if besides else Rule.objects.all()
    return f"{name} (ready-made)" if others.filter(name=name).exists() else name
