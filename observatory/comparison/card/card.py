"""The card of a run: what it did, in short, as far as a scope may show it.

Figures and contents are stored with the run, so a card costs some indexed queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q

from observatory.comparison.deviation import deviation_of
from observatory.comparison.history import MEASURES
from observatory.comparison.recent_runs import ENDED
from observatory.comparison.run_selection import last_runs_before
from observatory.comparison.verdict import verdict_of
from observatory.replay.scope import Scope
from observatory.runs.errors.run_exceptions import exception_of, fields_of
from observatory.runs.main_finding import main_finding_of
from observatory.runs.models import Run
from observatory.runs.other_work import other_work_of
from observatory.runs.refresh import end_of
from observatory.runs.usage.prices import cost_of_run
from observatory.store.connection import read_connection
from observatory.store.queries.tasks.errors import first_error
from observatory.wire.records import Action

MOST_NOTES = 20
DURATIONS = ("shortest", "median", "p95", "longest")
"""of a prefix; runs that were counted by an earlier version have none"""
FIGURES = (
    "progress",
    "workers",
    "lifetimes",
    "most_workers",
    "threads",
    "memory_limit",
    "peak_memory",
    "peak_limit",
    "peak_spilled",
    "transferred",
)
ACTIONS = {
    "compute": (Action.COMPUTE,),
    "transfer": (Action.TRANSFER,),
    "disk": (Action.DISK_READ, Action.DISK_WRITE),
    "serialize": (Action.SERIALIZE, Action.DESERIALIZE),
}

Item = dict[str, Any]


def card_of(run: Run, scope: Scope) -> Item:
    """The card as in schemas.py. `scope`: that of the run, or of a link to it, which shows a part of it."""
    contents = _contents(run, scope)
    return {
        "name": scope.text(run.name),
        "outcome": run.outcome,
        "start": run.start.timestamp(),
        "stop": run.stop.timestamp() if run.stop else None,
        "user": run.user,
        "tags": run.tags,
        "is_counted": run.counted is not None,
        "tasks": run.tasks if run.counted else None,
        "errors": run.errors if run.counted else None,
        "counted": run.figures.get("until") if run.is_open else None,
        "first_error": _first_error(run, scope),
        "raised": _raised(run, scope),
        **{name: run.figures.get(name) for name in FIGURES},
        "main_finding": main_finding_of(run),
        "cost": cost_of_run(run),
        "times": times(run.figures),
        **contents,
        "batch_jobs": run.contents.get("batch_jobs"),
        "history": _history(run),
        "notes": _notes(run),
    }


def times(figures: Mapping[str, Any]) -> list[Item]:
    """What the threads did, in the order of ACTIONS, and then their idle time; empty without threads."""
    lane_seconds, by_action = figures.get("lane_seconds"), figures.get("seconds", {})
    if not lane_seconds:
        return []
    busy = {
        name: sum(by_action.get(action.label, 0.0) for action in actions) for name, actions in ACTIONS.items()
    }
    # transfers and disk can go on while the same thread's task is computed
    whole = max(lane_seconds, sum(busy.values()))
    of_others = min(figures.get("other_seconds", 0.0), whole - sum(busy.values()))
    busy |= {"others": of_others} if of_others > 0 else {}
    all_times = {**busy, "idle": whole - sum(busy.values())}
    return [
        {"name": name, "seconds": seconds, "share": seconds / whole} for name, seconds in all_times.items()
    ]


def _contents(run: Run, scope: Scope) -> Item:
    computed = run.figures.get("seconds", {}).get(Action.COMPUTE.label) or 0.0
    computations, stop = run.contents.get("computations", []), end_of(run).timestamp()
    return {
        "prefixes": [
            {
                **dict.fromkeys(DURATIONS),
                **prefix,
                "name": scope.text(prefix["name"]),
                "share": min(prefix["seconds"] / computed, 1.0) if computed else 0.0,
            }
            for prefix in run.contents.get("prefixes", [])
        ],
        "code": scope.text(run.code),
        "computations": [
            {
                **_clip(computation, run.start.timestamp(), stop),
                "code": scope.text(computation["code"]),
            }
            for computation in computations
        ],
        "computation_count": run.contents.get("computation_count", len(computations)),
    }


def _clip(computation: Item, start: float, stop: float) -> Item:
    """A graph can be submitted before the run in which its tasks are computed, and last longer than it."""
    first = max(computation["time"], start)
    last = min(computation["time"] + computation["seconds"], stop)
    return {**computation, "time": first, "seconds": max(last - first, 0.0)}


def _first_error(run: Run, scope: Scope) -> Item | None:
    with read_connection() as connection:
        stop = end_of(run)
        others = other_work_of(connection, run, stop)
        error = first_error(connection, run.cluster_id, run.start, stop, others)
    if error is None:
        return None
    return {
        "time": error.time.timestamp(),
        "type": scope.text(error.exception_type),
        "message": scope.text(error.message),
        "key": scope.text(error.key),
    }


def _raised(run: Run, scope: Scope) -> Item | None:
    """What ended the code of the run."""
    with read_connection() as connection:
        raised = exception_of(connection, run)
    return None if raised is None else fields_of(raised, scope.text)


def _history(run: Run) -> Item | None:
    earlier = list(reversed(last_runs_before(run).defer("contents")))
    if not earlier:
        return None
    durations = [(each.stop - each.start).total_seconds() for each in earlier if each.stop]
    unusual, is_known = [], False
    for measure in MEASURES.values() if run.outcome in ENDED else ():
        value = measure.value(run)
        before = [known for each in earlier if (known := measure.value(each)) is not None]
        deviation = None if value is None else deviation_of(value, before)
        is_known |= deviation is not None
        if deviation and deviation.is_unusual:
            unusual.append(
                {
                    "name": measure.name,
                    "unit": measure.unit,
                    "value": deviation.value,
                    "usual": deviation.usual,
                }
            )
    return {
        "durations": durations,
        "verdict": verdict_of(run, earlier),
        "is_known": is_known,
        "unusual": unusual,
    }


def _notes(run: Run) -> list[Item]:
    stop: datetime = end_of(run)
    reaches = Q(time__gte=run.start) | Q(stop__gte=run.start)
    notes = run.cluster.notes.filter(reaches, time__lte=stop).select_related("author")[:MOST_NOTES]
    return [
        {
            "time": note.time.timestamp(),
            "stop": note.stop.timestamp() if note.stop else None,
            "text": note.text,
            "author": note.author.get_username() if note.author else None,
        }
        for note in notes
    ]
