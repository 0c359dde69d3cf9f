"""A measure of all runs of one name over time, and its lasting changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from observatory.comparison.change_points import ChangePoint, find_change_points
from observatory.runs.models import Run
from observatory.wire.client_code.ci import JOB
from observatory.wire.client_code.runs import FLOW_RUN, TRACE, TRACE_SPAN
from observatory.wire.records import Action

MOST_RUNS = 500
"""shown, the newest"""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of runs to follow over time."""

    name: str
    unit: str
    """seconds, share, bytes, count"""
    value: Callable[[Run], float | None]
    more: str = "more"
    less: str = "less"


@dataclass(frozen=True, slots=True)
class MeasureChange:
    """A lasting change of a measure, at the first run after it."""

    point: ChangePoint
    tags: list[tuple[str, str, str]]
    """name, old value and new value of the tags that changed with it; "" for none"""

    @property
    def share(self) -> float:
        """Relative to the value before; infinite if that was 0."""
        before, after = self.point.before, self.point.after
        return abs(after - before) / before if before else float("inf")


@dataclass(slots=True)
class Point:
    """A run in the history."""

    run: Run
    value: float | None
    before: Run | None
    """the run before it"""
    change: MeasureChange | None = None


def _seconds(*actions: Action) -> Callable[[Run], float | None]:
    labels = [action.label for action in actions]

    def value(run: Run) -> float | None:
        by_action: Mapping[str, float] | None = run.figures.get("seconds")
        return None if by_action is None else sum(by_action.get(label, 0.0) for label in labels)

    return value


def _duration(run: Run) -> float | None:
    return None if run.stop is None else (run.stop - run.start).total_seconds()


def _idle(run: Run) -> float | None:
    computed, lane_seconds = _seconds(Action.COMPUTE)(run), run.figures.get("lane_seconds")
    if computed is None or not lane_seconds:
        return None
    own = lane_seconds - run.figures.get("other_seconds", 0.0)
    return max(0.0, 1 - computed / own) if own > 0 else None


MEASURES: dict[str, Measure] = {
    "duration": Measure("Duration", "seconds", _duration, "slower", "faster"),
    "compute": Measure("Computing", "seconds", _seconds(Action.COMPUTE)),
    "transfer": Measure("Transfers", "seconds", _seconds(Action.TRANSFER)),
    "idle": Measure("Idle", "share", _idle),
    "memory": Measure("Peak memory", "bytes", lambda run: run.figures.get("peak_memory")),
    "tasks": Measure("Tasks", "count", lambda run: run.tasks if run.counted else None),
    "errors": Measure("Errors", "count", lambda run: run.errors if run.counted else None),
}


def history(runs: Iterable[Run], measure: Measure) -> list[Point]:
    """`runs`, newest first, with their values and changes. Lost and open runs don't count for changes."""
    found = list(runs)
    points = [Point(run, measure.value(run), before) for run, before in zip_longest(found, found[1:])]
    known = [point for point in reversed(points) if point.value is not None and _has_ended(point.run)]
    for change in find_change_points([point.value for point in known if point.value is not None]):
        tags = changed_tags(known[change.at - 1].run.tags, known[change.at].run.tags)
        known[change.at].change = MeasureChange(change, tags)
    return points


def _has_ended(run: Run) -> bool:
    return run.outcome in (Run.Outcome.FINISHED, Run.Outcome.ERRED)


def changed_tags(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, old value and new value of the tags that differ; "" for none.

    Without the job of CI, the run of a workflow and the trace, which are others for each run.
    """
    names = sorted({*before, *now} - {JOB, FLOW_RUN, TRACE, TRACE_SPAN})
    pairs = [(name, str(before.get(name, "")), str(now.get(name, ""))) for name in names]
    return [(name, was, value) for name, was, value in pairs if was != value]
