"""The graph of a window's tasks where these are few: each task's states over time, and its edges."""

from __future__ import annotations

from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.sums import recorded_part
from observatory.store.keys import decode_key
from observatory.store.queries.windows.prefixes import group_names
from observatory.store.queries.windows.row_counts import has_more_spans, has_more_transitions
from observatory.store.queries.windows.tasks import graph as store
from observatory.wire.records import TASK_STATES

MOST_TASKS = 5_000
MOST_ROWS = 50_000
"""transitions, or computations, that are read"""
MOST_EDGES = 20_000
PROCESSING, MEMORY, ERRED = map(TASK_STATES.index, ("processing", "memory", "erred"))
NOT_YET = -1
"""the state of a task that no graph has brought yet, or of which nothing is known"""

Item = dict[str, Any]
Task = tuple[int, str]
"""group id and rest of the key"""


def task_graph_of(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Return the API's graph of the tasks of [after, before) (microseconds). Needs a snapshot."""
    cluster = scope.cluster.pk
    start, stop = recorded_part(connection, scope, after, before)
    if start >= stop:
        return _nothing(start, start)
    window = (connection, cluster, start, stop)
    if has_more_transitions(*window, MOST_ROWS) or has_more_spans(*window, None, MOST_ROWS):
        return _nothing(start, stop, is_too_large=True)
    changes, spans = store.task_changes(*window), store.task_spans(*window)
    found = _tasks(start, changes, spans)
    tasks: list[Task] = found.pop("tasks")
    if len(tasks) > MOST_TASKS:
        return _nothing(start, stop, is_too_large=True)
    edges = store.task_edges(connection, cluster, tasks, stop, MOST_EDGES + 1)
    names = {group.id: group for group in group_names(connection, cluster, list({id for id, _ in tasks}))}
    return {
        **_defaults(start, stop),
        **found,
        "keys": [scope.text(decode_key(rest, names[group].name)) for group, rest in tasks],
        "prefix": [names[group].prefix for group, _ in tasks],
        "group": [group for group, _ in tasks],
        "edges": {
            "task": [task for task, _ in edges[:MOST_EDGES]],
            "needed": [needed for _, needed in edges[:MOST_EDGES]],
        },
        "has_all_edges": len(edges) <= MOST_EDGES,
    }


def _defaults(start: int, stop: int) -> Item:
    window: Item = {"start": start / 1e6, "stop": stop / 1e6, "most": MOST_TASKS}
    return {**window, "is_too_large": False, "has_all_edges": True}


def _nothing(start: int, stop: int, is_too_large: bool = False) -> Item:
    found = _tasks(start, [], [])
    del found["tasks"]
    empty: Item = {"keys": [], "prefix": [], "group": [], "edges": {"task": [], "needed": []}}
    return {**_defaults(start, stop), **found, **empty, "is_too_large": is_too_large}


def _tasks(start: int, changes: list[store.TaskChange], spans: list[store.TaskSpan]) -> Item:
    """Return the tasks in the order of their appearance, with their states before and in the window.

    Where no transitions were recorded, computations tell when a task was processing, and what became of it.
    """
    place: dict[Task, int] = {}
    before: list[int] = []
    seconds: list[float] = []
    made: list[tuple[int, float, int]] = []

    def place_of(task: Task, state: int) -> int:
        if task not in place:
            place[task] = len(place)
            before.append(state)
            seconds.append(0.0)
        return place[task]

    for change in changes:
        before_it = NOT_YET if change.is_first else change.start
        made.append((place_of(change[:2], before_it), change.time, change.finish))
    for span in spans:
        at = place_of(span[:2], NOT_YET)
        seconds[at] += span.stop - span.start
        if not changes:
            made += [(at, span.start, PROCESSING), (at, span.stop, ERRED if span.erred else MEMORY)]
    made.sort(key=lambda change: change[1])
    return {
        "tasks": list(place),
        "has_states": bool(changes),
        "seconds": [round(one, 6) for one in seconds],
        "before": before,
        "changes": {
            "task": [task for task, _, _ in made],
            "time": [round(time - start / 1e6, 6) for _, time, _ in made],
            "state": [state for _, _, state in made],
        },
    }
