"""Validates rules: finds problems that would make evaluation fail, for the form's fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from observatory.alerts.models import DAY, Condition, Rule
from observatory.alerts.rules.conditions import ORDERED, Aggregate, By, Comparison, Function, Measure
from observatory.alerts.rules.events import LOG, RULE_EVENTS, WORKER_PAUSED, RuleEvent
from observatory.alerts.rules.known_metrics import MAX_VALUES, KnownMetric, known_metric
from observatory.alerts.rules.placeholders import NAMES, unknown_placeholders
from observatory.alerts.rules.scope import is_on_observatory
from observatory.alerts.silences.matchers import Matcher, MatcherError, check_pattern, parse_matchers

MAX_CONDITIONS = 4
ATTRIBUTE_MISSING = "Choose the attribute."
MAX_EARLIER = 100
"""runs that a run is compared with"""
MAX_LISTED = 8
"""values that an error message lists"""

Found = Iterator[tuple[str, str]]
"""(field, message) of each problem"""
Known = Callable[[str], KnownMetric | None]
"""known_metric of the projects whose metrics may be used"""


@dataclass(frozen=True, slots=True)
class Problem:
    condition_index: int | None
    """None: a problem of the rule itself"""
    field: str
    """of the model; "" for none"""
    message: str


def problems(
    rule: Rule, conditions: Sequence[Condition], projects: Sequence[int] | None = None
) -> list[Problem]:
    """The problems of a rule and its conditions, which may be unsaved.

    `projects` are those whose metrics are known (None: all, and Observatory's own): messages list labels.
    Raises psycopg.Error without a database.
    """
    known = partial(known_metric, projects=projects)
    found = [Problem(None, *each) for each in _of_rule(rule, conditions)]
    for index, condition in enumerate(conditions):
        of_condition = [Problem(index, *each) for each in _of_condition(condition, known)]
        if index and not of_condition:
            of_condition = [Problem(index, *each) for each in _of_join(conditions[0], condition, known)]
        found += of_condition
    return found


def _of_condition(condition: Condition, known: Known) -> Found:
    match Condition.Kind(condition.kind):
        case Condition.Kind.METRIC:
            return _of_metric(condition, known)
        case Condition.Kind.EVENT:
            return _of_event(condition)
        case Condition.Kind.RUN:
            return _of_run(condition)


def _of_rule(rule: Rule, conditions: Sequence[Condition]) -> Found:
    if not conditions:
        yield "", "A rule needs a condition."
    if len(conditions) > MAX_CONDITIONS:
        yield "", f"A rule has at most {MAX_CONDITIONS} conditions."
    if not 0 <= rule.hold_seconds <= DAY:  # nor is NaN
        yield "hold_seconds", "Enter 0 seconds to a day."
    for name in unknown_placeholders(rule.message):
        known = ", ".join(f"{{{each}}}" for each in (*NAMES, "labels.name"))
        yield "message", f"{{{name[:40]}}} isn't a placeholder. Use {known}."


def _of_metric(condition: Condition, known: Known) -> Found:
    metric = known(condition.metric) if condition.metric else None
    if metric is None:
        yield "metric", _unknown(condition.metric)
    else:
        yield from _of_labels("labels", condition.labels, metric)
        yield from _of_subjects(condition, metric)
        yield from _of_other(condition, metric, known)
    if condition.function != Function.VALUE:
        yield from _of_window(condition)
    if condition.aggregate == Aggregate.QUANTILE and not 0 <= condition.quantile <= 1:
        yield "quantile", "A quantile is between 0 and 1: 0.95."
    if condition.comparison != Comparison.ABSENT:
        yield from _of_threshold(condition)
    elif condition.other:
        yield "other", "A metric that is missing can't be combined with another: choose nothing."


def _unknown(name: str) -> str:
    return f"No cluster has reported a metric {name[:100]}." if name else "Choose a metric."


def _of_window(condition: Condition) -> Found:
    if not 1 <= (condition.window_seconds or 0) <= DAY:
        yield "window_seconds", "Enter a window of 1 second to a day."


def _of_threshold(condition: Condition) -> Found:
    threshold, clear = condition.threshold, condition.clear_threshold
    if threshold is None or not math.isfinite(threshold):
        yield "threshold", "The threshold has to be a number."
        return
    if clear is None:
        return
    rises = condition.comparison in (Comparison.ABOVE, Comparison.AT_LEAST)
    if condition.comparison not in ORDERED:
        yield "clear_threshold", "Only above, below, at least and at most have a clear threshold."
    elif not math.isfinite(clear):
        yield "clear_threshold", "The clear threshold has to be a number, or empty."
    elif clear > threshold if rises else clear < threshold:
        side = "below" if rises else "above"
        yield (
            "clear_threshold",
            f"The clear threshold has to be {side} the threshold ({threshold:g}), or equal to it.",
        )


def _of_subjects(condition: Condition, metric: KnownMetric) -> Found:
    if condition.by == By.WORKER and not metric.of_workers:
        yield "by", f"{metric.name} isn't reported by workers: choose the whole cluster or each series."


def _of_other(condition: Condition, metric: KnownMetric, known: Known) -> Found:
    match condition.other:
        case Condition.Other.ATTRIBUTE:
            if not condition.other_attribute:
                yield "other_attribute", ATTRIBUTE_MISSING
            elif condition.by == By.SERIES and not metric.of_workers:
                yield (
                    "other_attribute",
                    f"{metric.name} isn't reported by workers: choose the whole cluster.",
                )
        case Condition.Other.METRIC:
            name = condition.other_metric
            other = known(name) if name else None
            if other is None:
                yield "other_metric", _unknown(name)
                return
            yield from _of_labels("other_labels", condition.other_labels, other)
            if condition.by == By.SERIES and not _is_of_all(other):
                labels = (condition.labels, condition.other_labels)
                yield from _of_same_labels("other_metric", metric, other, labels)


def _is_of_all(metric: KnownMetric) -> bool:
    """True if the metric has a single series for the whole cluster."""
    return not metric.of_workers and not metric.labels


def _of_same_labels(field: str, metric: KnownMetric, other: KnownMetric, labels: tuple[str, str]) -> Found:
    """Series can only be joined if their labels are the same."""
    these, others = (sorted({*each.labels} - {"worker"}) for each in (metric, other))
    advice = "choose each worker or the whole cluster."
    if these != others:
        difference = (
            f"The series of {metric.name} have {_listed(these)}, those of {other.name} {_listed(others)}"
        )
        yield field, f"{difference}: {advice}"
    elif metric.of_workers and not other.of_workers:
        yield field, f"{metric.name} is reported by workers, {other.name} isn't: {advice}"
    else:
        with_values = [_exact(text) for text in labels]
        for label in sorted(with_values[0].keys() & with_values[1].keys()):
            if with_values[0][label] != with_values[1][label]:
                yield field, f"The conditions require different values of the label {label}: {advice}"


def _exact(labels: str) -> dict[str, str]:
    """The label values that `=` matchers require."""
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
            continue  # the worker may join later
        if matcher.label not in metric.labels:
            if not matcher.matches({}):
                known = _listed([label for label in metric.labels if label != "worker"])
                yield field, f"No series of {metric.name} has the label {matcher.label}. Labels: {known}."
        elif not _may_match(matcher, metric.labels[matcher.label]):
            seen = _listed(metric.labels[matcher.label])
            yield field, f"No series of {metric.name} matches {matcher}. Values: {seen}."


def _may_match(matcher: Matcher, seen: Sequence[str]) -> bool:
    """True if the matcher matches a known value, or if not all values are known."""
    if not seen or len(seen) >= MAX_VALUES:
        return True
    return any(matcher.matches({matcher.label: value}) for value in ("", *seen))


def _listed(values: Sequence[str]) -> str:
    if not values:
        return "no labels"
    more = f" and {len(values) - MAX_LISTED} more" if len(values) > MAX_LISTED else ""
    return ", ".join(value[:60] for value in values[:MAX_LISTED]) + more


def _of_event(condition: Condition) -> Found:
    name, event = condition.event, RULE_EVENTS.get(condition.event)
    if event is None:
        yield "event", f"There is no event {name[:40]}." if name else "Choose an event."
        return
    if condition.by == By.SERIES:
        yield "by", "Conditions on events are for each worker or the whole cluster."
    if not event.is_lasting:
        yield from _of_window(condition)
    yield from _of_count(condition, event)
    if condition.level and event is not LOG:
        yield "level", "Only log lines have a level."
    if condition.pattern and not event.has_text:
        yield "pattern", "This event has no message to search in."
    elif condition.pattern:
        try:
            check_pattern(condition.pattern)
        except MatcherError as error:
            yield "pattern", str(error)


def _of_count(condition: Condition, event: RuleEvent) -> Found:
    if (condition.count or 0) < 1:
        yield "count", "Enter at least 1."
    elif condition.count > 1 and event.is_single:
        yield "count", "This can only happen once at a time: enter 1."
    elif condition.count > 1 and event is WORKER_PAUSED and condition.by == By.WORKER:
        yield "count", "A worker is paused once at a time. Count paused workers over the whole cluster."


def _of_run(condition: Condition) -> Found:
    if condition.measure != Measure.NEW_ERRORS:
        if condition.comparison not in (Comparison.ABOVE, Comparison.BELOW):
            yield "comparison", "A run is above or below what is usual."
        yield from _of_share(condition)
    if not 1 <= (condition.earlier_runs or 0) <= MAX_EARLIER:
        yield "earlier_runs", f"Enter 1 to {MAX_EARLIER} runs."
    elif not 1 <= (condition.fewest_runs or 0) <= condition.earlier_runs:
        yield "fewest_runs", f"Enter 1 to {condition.earlier_runs}, the number of earlier runs."
    yield from _of_window(condition)


def _of_share(condition: Condition) -> Found:
    threshold = condition.threshold
    if threshold is None or not math.isfinite(threshold) or threshold < 0:
        yield "threshold", "Enter a share of the usual value, such as 20 %."
    elif condition.comparison == Comparison.BELOW and threshold >= 1:
        yield "threshold", "Nothing is below the usual value by 100 % or more: enter less."


def _of_join(first: Condition, other: Condition, known: Known) -> Found:
    if is_on_observatory([first]) is not is_on_observatory([other]):
        field = "metric" if other.kind == Condition.Kind.METRIC else "kind"
        yield field, "A condition on Observatory itself can't be combined with one on clusters."
        return
    if _is_of_runs(other) and not _is_of_runs(first):
        yield "kind", "A condition on runs has to be the first one, or follow another on runs."
        return
    these, others = _by(first), _by(other)
    if _is_of_runs(first) and not _is_of_runs(other) and others != By.CLUSTER:
        yield "by", "The first condition is on runs, so this one has to be for the whole cluster."
        return
    if others == By.CLUSTER or (these, others) == (By.SERIES, By.WORKER):
        return
    if these == By.CLUSTER:
        yield (
            "by",
            "The first condition is for the whole cluster, so this one has to be too.",
        )
    elif these != others:
        yield "by", "The first condition is for each worker: choose that or the whole cluster."
    elif these == By.SERIES and not _is_of_runs(first):
        metrics = known(first.metric), known(other.metric)
        if metrics[0] is not None and metrics[1] is not None and not _is_of_all(metrics[1]):
            yield from _of_same_labels("metric", metrics[0], metrics[1], (first.labels, other.labels))


def _by(condition: Condition) -> str:
    if condition.kind == Condition.Kind.EVENT and RULE_EVENTS[condition.event].is_of_cluster:
        return By.CLUSTER
    return By.SERIES if _is_of_runs(condition) else condition.by


def _is_of_runs(condition: Condition) -> bool:
    return condition.kind == Condition.Kind.RUN
