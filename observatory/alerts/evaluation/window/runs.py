"""Evaluates conditions on runs: compares each run with earlier runs of its name when it has ended.

The value of a name, from the end of a run on, is the share of the earlier runs' median by which a measure of
the run is above that median, or below it if the condition says so; for new errors it is their number. It
lasts until the next run of the name ends, or for the condition's window. There is no value, and the condition
is FALSE, where too few earlier runs have ended or the measure isn't known of enough of them.

New errors are pairs of an exception type and a prefix of the run's own tasks that no earlier run had.
Earlier runs with errors that were never recorded, or are no longer stored, aren't known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

import numpy as np
from django.db.models import Max

from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.outcomes import Subject, Truth
from observatory.alerts.evaluation.window.run_data import earlier_of, stop_of
from observatory.alerts.evaluation.window.steps import SECOND, Integers, Steps, keys_of
from observatory.alerts.rules.conditions import Comparison, Measure, RuleSpec, RunCondition
from observatory.alerts.rules.units import format_value
from observatory.comparison.history import MEASURES
from observatory.comparison.recent_runs import ENDED
from observatory.runs.models import Run
from observatory.store.queries.tasks.errors import ErrorKinds

LABEL = "run"
"""of the subjects: the name of runs"""
MOST_SHARE = 1000.0
"""the largest difference, so that one from a median of 0 is a number"""
MOST_NAMED = 3
"""new errors that a text names"""
UNITS = {"share": "ratio", "count": ""}
"""of measures, as units.format_value knows them"""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    run: Run
    stop: int
    """microseconds"""
    value: float
    """nan: too few earlier runs, or the run's own measure isn't known"""
    text: str


@dataclass(frozen=True, slots=True)
class RunValues:
    """For each name of runs the condition's value, truth and text."""

    subjects: tuple[Subject, ...]
    values: Steps
    truths: Steps
    texts: Steps


def evaluate_runs(data: WindowData, condition: RunCondition) -> RunValues:
    by_name: defaultdict[str, list[JudgedRun]] = defaultdict(list)
    for judged in judged_runs(data, condition):
        by_name[judged.run.name].append(judged)
    keys: list[Integers] = [np.empty(0, np.int64)]
    values: list[float] = []
    texts: list[str] = []
    for place, judged_of_name in enumerate(by_name.values()):
        steps = _steps(data, judged_of_name, round(condition.window * SECOND))
        keys.append(keys_of(place, np.array(list(steps), np.int64), data.start))
        values += [value for value, _ in steps.values()]
        texts += [text for _, text in steps.values()]
    every, numbers = np.concatenate(keys), np.array(values, np.float64)
    truths = np.where(numbers > condition.threshold, Truth.TRUE, Truth.FALSE).astype(np.int8)
    return RunValues(
        tuple(Subject(None, {LABEL: name}) for name in by_name),
        Steps(every, numbers),
        Steps(every, truths),
        Steps(every, np.array(texts, object)),
    )


def judged_runs(data: WindowData, condition: RunCondition) -> list[JudgedRun]:
    """The runs that ended in the window, and the last of each name that ended a condition's window before it,
    in order of their ends."""
    data.load((RuleSpec((condition,)),))
    which = earlier_of(condition)
    runs = [(run, data.runs.earlier[run.pk, which]) for run in data.runs.judged(condition)]
    if condition.measure is Measure.NEW_ERRORS:
        return [_with_new_errors(condition, run, earlier, data.runs.kinds) for run, earlier in runs]
    return [_compared(condition, run, earlier) for run, earlier in runs]


def last_ends(clusters: Iterable[int]) -> dict[int, datetime]:
    """The end of the newest run of each cluster that has some that ended."""
    ended = Run.objects.filter(cluster__in=list(clusters), outcome__in=ENDED)
    return dict(ended.order_by().values_list("cluster").annotate(Max("stop")))


def _compared(condition: RunCondition, run: Run, earlier: Sequence[Run]) -> JudgedRun:
    measure = MEASURES[condition.measure]
    value, before = measure.value(run), [measure.value(each) for each in earlier]
    known = [each for each in before if each is not None]
    if value is None or len(known) < condition.fewest:
        return _not_judged(condition, run, len(known))
    usual, unit = median(known), UNITS.get(measure.unit, measure.unit)
    amounts = f"{format_value(value, unit)}, usually {format_value(usual, unit)}"
    is_duration = condition.measure is Measure.DURATION
    text = f"{run.name} took {amounts}" if is_duration else f"{run.name}: {condition.measure.label} {amounts}"
    share = _share_above(value, usual)
    return JudgedRun(run, stop_of(run), -share if condition.comparison is Comparison.BELOW else share, text)


def _share_above(value: float, usual: float) -> float:
    """By what share of the usual value it is above it; negative below it."""
    if not usual:
        return MOST_SHARE if value else 0.0
    return min(value / usual - 1, MOST_SHARE)


def _not_judged(condition: RunCondition, run: Run, known: int) -> JudgedRun:
    runs = "1 earlier run is" if known == 1 else f"{known} earlier runs are"
    text = f"{run.name}: {runs} known, {condition.fewest} are needed"
    return JudgedRun(run, stop_of(run), np.nan, text)


def _with_new_errors(
    condition: RunCondition, run: Run, earlier: Sequence[Run], kinds: Mapping[int, ErrorKinds]
) -> JudgedRun:
    known = [each for each in earlier if not each.errors or kinds[each.pk]]
    own = kinds.get(run.pk, {})
    if len(known) < condition.fewest or (run.errors and not own):
        return _not_judged(condition, run, len(known))
    before = {kind for each in known for kind in kinds.get(each.pk, ())}
    new = sorted(own.keys() - before, key=lambda kind: (own[kind], kind))
    return JudgedRun(run, stop_of(run), float(len(new)), _new_errors(run, new, len(known)))


def _new_errors(run: Run, new: Sequence[tuple[str, str]], known: int) -> str:
    if not new:
        return f"{run.name}: no error that the last {known} runs didn't have"
    named = ", ".join(f"{type or 'an error'} in {prefix}" for type, prefix in new[:MOST_NAMED])
    more = f" and {len(new) - MOST_NAMED} more" if len(new) > MOST_NAMED else ""
    return f"{run.name}: {named}{more}, not in the last {known} runs"


def _steps(data: WindowData, judged: Iterable[JudgedRun], window: int) -> dict[int, tuple[float, str]]:
    """Values and texts of one name by time (microseconds), from the window's start on."""
    changes: dict[int, tuple[float, str]] = {}
    for each in judged:
        for end in [time for time in changes if time >= each.stop]:
            del changes[end]
        changes[each.stop] = (each.value, each.text)
        changes[each.stop + window] = (np.nan, "")
    steps = {data.start: (np.nan, "")}
    for time, change in changes.items():
        if time < data.stop:
            steps[max(time, data.start)] = change
    return steps
