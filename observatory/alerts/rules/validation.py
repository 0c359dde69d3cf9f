"""Why a rule can't work as it is written: said at the field when it is saved, before it fails later."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from observatory.alerts.models import DAY, Condition, Rule
from observatory.alerts.rules.conditions import Aggregate, By, Comparison, Function
from observatory.alerts.rules.events import LOG, RULE_EVENTS, WORKER_PAUSED, RuleEvent
from observatory.alerts.rules.known_metrics import MAX_VALUES, KnownMetric, known_metric
from observatory.alerts.silences.matchers import Matcher, MatcherError, check_pattern, parse_matchers

MOST_CONDITIONS = 4
PLACEHOLDERS = ("cluster", "worker", "value", "threshold", "labels", "text")
MOST_NAMED = 8
"""values that a message names"""

Found = Iterator[tuple[str, str]]
"""field and message of each problem"""


@dataclass(frozen=True, slots=True)
class Problem:
    condition_index: int | None
    """None: of the rule itself"""
    field: str
    """of the model; "": of none"""
    message: str


def problems(rule: Rule, conditions: Sequence[Condition]) -> list[Problem]:
    """All that is wrong with a rule and its conditions, which may be unsaved; nothing: it can work.

    Raises psycopg.Error without a database.
    """
    found = [Problem(None, *each) for each in _of_rule(rule, conditions)]
    for index, condition in enumerate(conditions):
        check = _of_event if condition.kind == Condition.Kind.EVENT else _of_metric
        of_condition = [Problem(index, *each) for each in check(condition)]
        if index and not of_condition:
            of_condition = [Problem(index, *each) for each in _of_join(conditions[0], condition)]
        found += of_condition
    return found


def _of_rule(rule: Rule, conditions: Sequence[Condition]) -> Found:
    if not conditions:
        yield "", "A rule needs a condition."
    if len(conditions) > MOST_CONDITIONS:
        yield "", f"A rule has at most {MOST_CONDITIONS} conditions."
    if not 0 <= rule.hold_seconds <= DAY:  # nor is NaN
        yield "hold_seconds", "It has to hold for 0 seconds to a day."
    for name in dict.fromkeys(re.findall(r"\{([^{}]*)\}", rule.message)):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{each}}}" for each in PLACEHOLDERS)
            yield "message", f"{{{name[:40]}}} is none of what can be filled in: {known}."


def _of_metric(condition: Condition) -> Found:
    metric = known_metric(condition.metric) if condition.metric else None
    if metric is None:
        yield "metric", _unknown(condition.metric)
    else:
        yield from _of_labels("labels", condition.labels, metric)
        yield from _of_subjects(condition, metric)
        yield from _of_divisor(condition, metric)
    if condition.function != Function.VALUE:
        yield from _of_window(condition)
    if condition.aggregate == Aggregate.QUANTILE and not 0 <= condition.quantile <= 1:
        yield "quantile", "A quantile is between 0 and 1: 0.95."
    yield from _of_threshold(condition)


def _unknown(name: str) -> str:
    return f"No cluster has told a metric called {name[:100]}." if name else "Choose a metric."


def _of_window(condition: Condition) -> Found:
    if not 1 <= (condition.window_seconds or 0) <= DAY:
        yield "window_seconds", "Say over how long: 1 second to a day."


def _of_threshold(condition: Condition) -> Found:
    threshold, clear = condition.threshold, condition.clear_threshold
    if threshold is None or not math.isfinite(threshold):
        yield "threshold", "The threshold has to be a number."
        return
    if clear is None:
        return
    rises = condition.comparison in (Comparison.ABOVE, Comparison.AT_LEAST)
    if not math.isfinite(clear):
        yield "clear_threshold", "The threshold to clear at has to be a number, or empty."
    elif clear > threshold if rises else clear < threshold:
        side = "below" if rises else "above"
        yield "clear_threshold", f"It is cleared {side} its threshold, {threshold:g}, or at it."


def _of_subjects(condition: Condition, metric: KnownMetric) -> Found:
    if condition.by == By.WORKER and not metric.of_workers:
        yield "by", f"No worker tells {metric.name}: choose the whole cluster, or each series."


def _of_divisor(condition: Condition, metric: KnownMetric) -> Found:
    match condition.divisor:
        case Condition.Divisor.ATTRIBUTE:
            if not condition.divisor_attribute:
                yield "divisor_attribute", "Choose what of the worker to divide by."
            elif condition.by == By.SERIES and not metric.of_workers:
                yield "divisor_attribute", f"{metric.name} is of no worker: choose the whole cluster."
        case Condition.Divisor.METRIC:
            name = condition.divisor_metric
            divisor = known_metric(name) if name else None
            if divisor is None:
                yield "divisor_metric", _unknown(name)
                return
            yield from _of_labels("divisor_labels", condition.divisor_labels, divisor)
            if condition.by == By.SERIES and not _is_of_all(divisor):
                labels = (condition.labels, condition.divisor_labels)
                yield from _of_same_labels("divisor_metric", metric, divisor, labels)


def _is_of_all(metric: KnownMetric) -> bool:
    """Whether there is one series of it for the whole cluster."""
    return not metric.of_workers and not metric.labels


def _of_same_labels(field: str, metric: KnownMetric, other: KnownMetric, labels: tuple[str, str]) -> Found:
    """Series are joined to those with the same labels."""
    ours, theirs = (sorted({*each.labels} - {"worker"}) for each in (metric, other))
    advice = "choose each worker, or the whole cluster."
    if ours != theirs:
        said = f"The series of {metric.name} have {_named(ours)}, those of {other.name} {_named(theirs)}"
        yield field, f"{said}: {advice}"
    elif metric.of_workers and not other.of_workers:
        yield field, f"{other.name} is of no worker, {metric.name} is: {advice}"
    else:
        with_values = [_exact(text) for text in labels]
        for label in sorted(with_values[0].keys() & with_values[1].keys()):
            if with_values[0][label] != with_values[1][label]:
                yield field, f"No series has the label {label} of both: {advice}"


def _exact(labels: str) -> dict[str, str]:
    """The values that labels have to have."""
    try:
        matchers = parse_matchers(labels)
    except MatcherError:
        return {}
    return {matcher.label: matcher.value for matcher in matchers if matcher.operator == "="}


def _of_labels(field: str, text: str, metric: KnownMetric) -> Found:
    try:
        matchers = parse_matchers(text)
    except MatcherError as error:
        yield field, str(error)
        return
    for matcher in matchers:
        if matcher.label == "worker" and metric.of_workers:
            continue  # workers come and go
        if matcher.label not in metric.labels:
            if not matcher.matches({}):
                known = _named([label for label in metric.labels if label != "worker"])
                yield field, f"No series of {metric.name} has the label {matcher.label}: they have {known}."
        elif not _may_match(matcher, metric.labels[matcher.label]):
            seen = _named(metric.labels[matcher.label])
            yield field, f"No series of {metric.name} has {matcher}: there were {seen}."


def _may_match(matcher: Matcher, seen: Sequence[str]) -> bool:
    """Where not all values were seen, others may."""
    if not seen or len(seen) >= MAX_VALUES:
        return True
    return any(matcher.matches({matcher.label: value}) for value in ("", *seen))


def _named(values: Sequence[str]) -> str:
    if not values:
        return "no labels"
    more = f" and {len(values) - MOST_NAMED} more" if len(values) > MOST_NAMED else ""
    return ", ".join(value[:60] for value in values[:MOST_NAMED]) + more


def _of_event(condition: Condition) -> Found:
    name, event = condition.event, RULE_EVENTS.get(condition.event)
    if event is None:
        yield "event", f"There is no event {name[:40]}." if name else "Choose an event."
        return
    if condition.by == By.SERIES:
        yield "by", "What happens is of each worker, or of the whole cluster."
    if not event.is_lasting:
        yield from _of_window(condition)
    yield from _of_count(condition, event)
    if condition.level and event is not LOG:
        yield "level", "Only log lines have a level."
    if condition.pattern and not event.has_text:
        yield "pattern", "There is no text in it that a regular expression could be found in."
    elif condition.pattern:
        try:
            check_pattern(condition.pattern)
        except MatcherError as error:
            yield "pattern", str(error)


def _of_count(condition: Condition, event: RuleEvent) -> Found:
    if (condition.count or 0) < 1:
        yield "count", "It has to happen at least once."
    elif condition.count > 1 and event.is_single:
        yield "count", "It happens once at a time: say 1."
    elif condition.count > 1 and event is WORKER_PAUSED and condition.by == By.WORKER:
        yield "count", "A worker is paused once at a time: count those of the whole cluster."


def _of_join(first: Condition, other: Condition) -> Found:
    ours, theirs = _by(first), _by(other)
    if theirs == By.CLUSTER or (ours, theirs) == (By.SERIES, By.WORKER):
        return
    if ours == By.CLUSTER:
        yield (
            "by",
            "The first condition is of the whole cluster, so this one has to be, too: "
            "the alerts are of what the first one is of.",
        )
    elif ours != theirs:
        yield "by", "The first condition is of each worker: choose that, or the whole cluster."
    elif ours == By.SERIES:
        metrics = known_metric(first.metric), known_metric(other.metric)
        if metrics[0] is not None and metrics[1] is not None and not _is_of_all(metrics[1]):
            yield from _of_same_labels("metric", metrics[0], metrics[1], (first.labels, other.labels))


def _by(condition: Condition) -> str:
    if condition.kind == Condition.Kind.EVENT and RULE_EVENTS[condition.event].is_of_cluster:
        return By.CLUSTER
    return condition.by
