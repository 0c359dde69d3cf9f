"""What a colleague would say of a run's duration: how it differs from usual, since when, and what grew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from statistics import median
from typing import Any

from observatory.clusters.formatting import format_percent
from observatory.comparison.change_points import LEAST, find_change_points
from observatory.comparison.deviation import deviation_of
from observatory.comparison.history import MEASURES, changed_tags
from observatory.comparison.recent_runs import ENDED
from observatory.runs.models import Run
from observatory.wire.records import Action

LEAST_PART = 0.1
"""of the additional time of all threads that what grew explains at least"""
MANY = 3.0
"""times the usual duration, from which on they are said instead of percents"""
MOST_TAGS, LONGEST_VALUE = 2, 40
GROWING = {
    "transfers": (Action.TRANSFER,),
    "disk": (Action.DISK_READ, Action.DISK_WRITE),
    "serialization": (Action.SERIALIZE, Action.DESERIALIZE),
    "computing": (Action.COMPUTE,),
}


def verdict_of(run: Run, earlier: Sequence[Run]) -> str:
    """ "72 % slower than usual since bbb0 (aaa4 before): transfers".

    `earlier`: the finished runs of its name before it, oldest first. "" of a run that goes on or was lost,
    and where too few runs say what is usual.
    """
    seconds = _seconds(run)
    if seconds is None or run.outcome not in ENDED:
        return ""
    usual, since = _before(seconds, earlier)
    if not usual:
        return ""
    before = median(_durations(usual))
    if abs(seconds - before) <= LEAST * before:
        return "as long as usual"
    parts = [_difference(seconds, before), _since(usual[-1], since[0] if since else run, run)]
    grown = _grown(run, usual) if seconds > before else ""
    return " ".join(part for part in parts if part) + (f": {grown}" if grown else "")


def _before(seconds: float, earlier: Sequence[Run]) -> tuple[Sequence[Run], Sequence[Run]]:
    """The runs that say what was usual, and those after them that took about as long as this one.

    The usual is empty where too few runs say it.
    """
    durations = _durations(earlier)
    found = deviation_of(seconds, durations)
    if found is None:
        return [], []
    changes = find_change_points(durations)
    starts = [0, *(change.at for change in changes)]
    if not found.is_unusual and changes:  # it is as since the last change
        last = _first_alike(seconds, changes[-1].before, durations)
        return earlier[starts[-2] : last], earlier[last:]
    last = _first_alike(seconds, found.usual, durations) if found.is_unusual else len(earlier)
    return earlier[starts[-1] : last], earlier[last:]


def _first_alike(seconds: float, usual: float, durations: Sequence[float]) -> int:
    """The index of the first of the last runs that are all nearer to `seconds` than to `usual`."""
    first = len(durations)
    while first > 0 and durations[first - 1] > 0:
        away = [abs(log(durations[first - 1] / other)) for other in (seconds, usual)]
        if away[0] >= away[1]:
            break
        first -= 1
    return first


def _difference(seconds: float, usual: float) -> str:
    if seconds < usual:
        return f"{format_percent(1 - seconds / usual)} faster than usual"
    if seconds >= MANY * usual:
        return f"{seconds / usual:.1f} times as long as usual"
    return f"{format_percent(seconds / usual - 1)} slower than usual"


def _since(before: Run, first: Run, run: Run) -> str:
    """Since when: by what changed with the first run after the usual ones, or else by its time."""
    changes = changed_tags(before.tags, first.tags)
    gone = [f"{name} ({_short(was)} before)" for name, was, value in changes if not value]
    said = [_change(*change, with_name=len(changes) > 1) for change in changes if change[2]]
    if said:
        return f"since {', '.join(said[:MOST_TAGS])}"
    if gone:
        return f"without {', '.join(gone[:MOST_TAGS])}"
    return "" if first == run else f"since {first.start:%Y-%m-%d %H:%M} UTC"


def _change(name: str, was: str, value: str, *, with_name: bool) -> str:
    label = f"{name} {_short(value)}" if with_name or not was else _short(value)
    return f"{label} ({_short(was) or 'none'} before)"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _grown(run: Run, usual: Sequence[Run]) -> str:
    """What took most of the additional time of the threads; "" where the figures don't say it."""
    more = _more(run.figures.get("lane_seconds"), (each.figures.get("lane_seconds") for each in usual))
    if more is None or more <= 0:
        return ""
    grown = {
        name: _more(_spent(run, actions), (_spent(each, actions) for each in usual)) or 0.0
        for name, actions in GROWING.items()
    }
    most = max(grown, key=lambda name: grown[name])
    if grown[most] < LEAST_PART * more:
        return "threads were idle"
    return _computing(run, usual[-1]) if most == "computing" else most


def _more(own: float | None, before: Iterable[float | None]) -> float | None:
    known = [each for each in before if each is not None]
    return own - median(known) if own is not None and known else None


def _spent(run: Run, actions: Sequence[Action]) -> float | None:
    by_action = run.figures.get("seconds")
    return None if by_action is None else sum(by_action.get(action.label, 0.0) for action in actions)


def _computing(run: Run, before: Run) -> str:
    """Names the prefix whose tasks computed longer than in the run before, or that there are more of them."""
    was = {prefix["name"]: prefix for prefix in before.contents.get("prefixes", [])}
    prefixes: list[dict[str, Any]] = run.contents.get("prefixes", [])
    if not prefixes:
        return "computing"
    most = max(prefixes, key=lambda each: each["seconds"] - was.get(each["name"], {}).get("seconds", 0.0))
    tasks = was.get(most["name"], {}).get("tasks", 0)
    is_longer = not tasks or most["seconds"] / most["tasks"] > was[most["name"]]["seconds"] / tasks
    what = "computing" if is_longer or most["tasks"] <= tasks else "more tasks of"
    return f"{what} {_short(most['name'])}"


def _durations(runs: Iterable[Run]) -> list[float]:
    return [seconds for each in runs if (seconds := _seconds(each)) is not None]


def _seconds(run: Run) -> float | None:
    return MEASURES["duration"].value(run)
