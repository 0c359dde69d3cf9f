"""Compares the workers of a run with one value of a label with those with another, in the run's window."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import psycopg

from observatory.comparison.compare import described, difference, parameters_of_test
from observatory.comparison.environment import differences, facts_of_workers
from observatory.comparison.memory_over_time import worker_memory_over_time
from observatory.comparison.prefixes import compared_prefixes
from observatory.comparison.run_summary import RunWindow
from observatory.comparison.worker_groups import (
    UnknownGroup,
    WorkerGroup,
    gil_share,
    greatest_memory,
    group_named,
    labels_of,
    mean_memory,
    summarize_group,
    used_share_of_cpu,
    used_share_of_limits,
)
from observatory.runs.models import Run
from observatory.store.queries import agents
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.workers.environment import worker_specs
from observatory.wire.records import Action

Item = dict[str, Any]

MINUTE = 60


def labels_of_run(connection: psycopg.Connection, run: Run) -> list[Item]:
    """The labels that the workers of a run can be compared by, and those that all have in common."""
    window = RunWindow.of(run)
    workers = worker_specs(connection, window.cluster, window.start, window.stop)
    return [asdict(label) | {"differs": label.differs} for label in labels_of(workers)] if workers else []


def compare_workers(connection: psycopg.Connection, run: Run, label: str, a: str, b: str) -> Item:
    """Compares the workers whose `label` is `a` with those whose is `b`.

    Raises UnknownGroup and TooLarge. The spans of one group at a time are in memory, about 150 bytes each.
    """
    if a == b:
        raise UnknownGroup(f"Both groups are the workers whose {label!r} is {a!r}: choose two values.")
    window = RunWindow.of(run)
    with snapshot(connection):
        workers = worker_specs(connection, window.cluster, window.start, window.stop)
        named = [(value, group_named(workers, label, value)) for value in (a, b)]
        one, other = (summarize_group(connection, window, value, its) for value, its in named)
        memory = worker_memory_over_time(
            connection, window, [[worker.id for worker in its] for _, its in named]
        )
        errors_are_known = agents.has_agent(connection, window.cluster)
    differ, same = differences(facts_of_workers(one.workers), facts_of_workers(other.workers))
    ranked, more = compared_prefixes(one, [other], expected=_expected(one, other))
    return {
        "run": described(run, window),
        "label": label,
        "a": _side(one),
        "b": _side(other),
        "figures": _figures(one, other, errors_are_known),
        "prefixes": ranked,
        "more_prefixes": more,
        "memory": memory,
        "differ": [asdict(each) for each in differ],
        "same": [asdict(each) for each in same],
        "test": parameters_of_test(),
    }


def _expected(a: WorkerGroup, b: WorkerGroup) -> float:
    """How many times the threads' time of `b` the time of `a` is: one worker of a new version has little."""
    return a.existence.thread_seconds / (b.existence.thread_seconds or math.inf)


def _side(group: WorkerGroup) -> Item:
    return {
        "value": group.value,
        "workers": group.existence.workers,
        "threads": group.existence.threads,
        "thread_seconds": group.existence.thread_seconds,
    }


def _share(*actions: Action) -> Callable[[WorkerGroup], float | None]:
    def share(group: WorkerGroup) -> float | None:
        return _ratio(
            sum(group.work.seconds.get(action, 0.0) for action in actions), group.existence.thread_seconds
        )

    return share


def _idle(group: WorkerGroup) -> float | None:
    computing = _share(Action.COMPUTE)(group)
    return None if computing is None else max(0.0, 1 - computing)


def _ratio(part: float | None, whole: float) -> float | None:
    return part / whole if part is not None and whole else None


FIGURES: tuple[tuple[str, str, Callable[[WorkerGroup], float | None]], ...] = (
    # name, unit, value; totals are only those that say how large the groups are
    ("Workers", "count", lambda group: group.existence.workers),
    ("Threads", "count", lambda group: group.existence.threads),
    ("Time of all threads", "seconds", lambda group: group.existence.thread_seconds),
    ("Tasks", "count", lambda group: group.work.tasks),
    (
        "Tasks of a thread in a minute",
        "count",
        lambda group: _ratio(group.work.tasks * MINUTE, group.existence.thread_seconds),
    ),
    ("Computing, of the threads' time", "share", _share(Action.COMPUTE)),
    ("Transfers, of the threads' time", "share", _share(Action.TRANSFER)),
    ("Disk, of the threads' time", "share", _share(Action.DISK_READ, Action.DISK_WRITE)),
    (
        "Serializing and deserializing, of the threads' time",
        "share",
        _share(Action.SERIALIZE, Action.DESERIALIZE),
    ),
    ("Idle, of the threads' time", "share", _idle),
    ("Received for a task", "bytes", lambda group: _ratio(group.work.received, group.work.tasks)),
    ("Memory of a worker, mean", "bytes", mean_memory),
    ("Memory of a worker, peak", "bytes", lambda group: greatest_memory(group, "process")),
    ("Memory, of the limits", "share", used_share_of_limits),
    ("Spilled by a worker, peak", "bytes", lambda group: greatest_memory(group, "spilled")),
    ("CPU, of a core for each thread", "share", used_share_of_cpu),
    ("Waiting for the GIL", "share", gil_share),
)

ERRORS: tuple[tuple[str, str, Callable[[WorkerGroup], float | None]], ...] = (
    ("Errors", "count", lambda group: group.work.errors),
    ("Errors, of the tasks", "share", lambda group: _ratio(group.work.errors, group.work.tasks)),
)


def _figures(a: WorkerGroup, b: WorkerGroup, errors_are_known: bool) -> list[Item]:
    """Without an agent nobody reports which worker a task failed on: then errors are not known."""
    are_known = errors_are_known or bool(a.work.errors or b.work.errors)
    found = []
    for name, unit, value in (*FIGURES, *ERRORS):
        is_known = are_known or (name, unit, value) not in ERRORS
        one, other = (value(a), value(b)) if is_known else (None, None)
        found.append({"name": name, "unit": unit, "a": one, "b": other, **difference(one, other, unit)})
    return found
