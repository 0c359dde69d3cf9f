"""Warnings about rules that are valid but probably not what is meant. They don't prevent anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from observatory.alerts.models import Condition
from observatory.alerts.rules.conditions import Aggregate, By, Comparison, Function, Measure
from observatory.alerts.rules.events import RULE_EVENTS
from observatory.alerts.silences.matchers import Matcher, MatcherError, parse_matchers
from observatory.clusters.models import Cluster
from observatory.store.connection import read_connection
from observatory.store.queries.alerts.known_metrics import clusters_with
from observatory.wire.metrics import METRICS, Metric

MAX_NAMED = 3
"""clusters that a warning names"""
DOUBTFUL_SHARE = 5.0
"""of a run's usual value: more is rarely meant"""
WHOLE = (Aggregate.SUM, Aggregate.MIN, Aggregate.MAX)
"""aggregates of whole numbers that are whole"""


@dataclass(frozen=True, slots=True)
class RuleWarning:
    condition_index: int
    field: str
    """of the condition"""
    message: str
    fixes: tuple[str, ...] = ()
    """values of the field, each of which would end the warning"""
    is_note: bool = False
    """it explains what the condition means; nothing is doubtful"""


def warnings_of(conditions: Sequence[Condition], clusters: Sequence[Cluster]) -> list[RuleWarning]:
    """The warnings about valid conditions, saved or not, of a rule with these clusters in its scope."""
    return [
        warning
        for index, condition in enumerate(conditions)
        for warning in (
            *_of_event(index, condition),
            *_of_share(index, condition),
            *_of_mixed_kinds(index, condition),
            *_of_added_shares(index, condition),
            *_of_whole_numbers(index, condition),
            *_of_unreported(index, condition, clusters),
        )
    ]


def _metrics(condition: Condition) -> Iterator[tuple[str, str]]:
    """(field of the metric, field of its labels) of the metrics that a condition uses."""
    if condition.kind == Condition.Kind.METRIC:
        yield "metric", "labels"
        if condition.other == Condition.Other.METRIC:
            yield "other_metric", "other_labels"


def _of_mixed_kinds(index: int, condition: Condition) -> Iterator[RuleWarning]:
    """An aggregate over values of a label that are different kinds, such as types of memory."""
    if condition.by == By.SERIES:
        return
    for metric_field, labels_field in _metrics(condition):
        metric = METRICS.get(getattr(condition, metric_field))
        matchers = _matchers(getattr(condition, labels_field))
        for label in metric.kinds if metric else ():
            values = metric.labels[label] if metric else ()
            if metric and not _is_chosen(matchers, label, values):
                listed = f": {', '.join(values)}" if values else ""
                yield RuleWarning(
                    index,
                    labels_field,
                    f"The {Aggregate(condition.aggregate).label} of {metric.name} mixes the values of "
                    f"{label}, which don't add up{listed}. Choose one.",
                    tuple(_with_label(matchers, label, value) for value in values),
                )


def _matchers(text: str) -> tuple[Matcher, ...]:
    try:
        return tuple(parse_matchers(text))
    except MatcherError:
        return ()  # an error at the field


def _is_chosen(matchers: Iterable[Matcher], label: str, values: Sequence[str]) -> bool:
    """True if the matchers name the values of the label, and not all of them."""
    return any(
        matcher.label == label
        and matcher.operator in ("=", "=~")
        and not (values and all(matcher.matches({label: value}) for value in values))
        for matcher in matchers
    )


def _with_label(matchers: Iterable[Matcher], label: str, value: str) -> str:
    others = [matcher for matcher in matchers if matcher.label != label]
    return ", ".join(map(str, (*others, Matcher(label, "=", value))))


def _of_added_shares(index: int, condition: Condition) -> Iterator[RuleWarning]:
    """The sum of shares of several workers, which can be over 100 %."""
    metric = _metric(condition)
    if (
        metric is not None
        and (metric.unit, metric.of_workers) == ("ratio", True)
        and (condition.by, condition.aggregate) == (By.CLUSTER, Aggregate.SUM)
        and not condition.other
    ):
        message = (
            f"The sum over the cluster adds up the shares of all workers in {metric.name}: two workers at "
            "60 % are 120 %. Choose the mean or the maximum."
        )
        yield RuleWarning(index, "aggregate", message, (Aggregate.MEAN.value, Aggregate.MAX.value))


def _of_whole_numbers(index: int, condition: Condition) -> Iterator[RuleWarning]:
    """What above and below mean for a count."""
    metric = _metric(condition)
    is_whole = condition.by == By.SERIES or condition.aggregate in WHOLE
    if metric is None or not metric.is_count or not is_whole:
        return
    if condition.other or condition.function != Function.VALUE:
        return
    threshold = f"{condition.threshold:g}"
    if condition.comparison == Comparison.ABOVE:
        first = math.floor(condition.threshold) + 1
        message = f"The value is a whole number: above {threshold}, the rule fires from {first:,} on."
        yield RuleWarning(index, "threshold", message, is_note=True)
    elif condition.comparison == Comparison.BELOW:
        first = math.ceil(condition.threshold) - 1
        message = f"The value is a whole number: below {threshold}, the rule fires at {first:,} and less."
        if first < 0:
            message = f"The value is never below {threshold}: the rule can't fire."
        yield RuleWarning(index, "threshold", message, is_note=first >= 0)


def _metric(condition: Condition) -> Metric | None:
    """The metric of a condition that is declared."""
    return METRICS.get(condition.metric) if condition.kind == Condition.Kind.METRIC else None


def _of_event(index: int, condition: Condition) -> Iterator[RuleWarning]:
    event = RULE_EVENTS.get(condition.event) if condition.kind == Condition.Kind.EVENT else None
    if event is not None and condition.count > 1 and not event.is_lasting:
        count = condition.count
        message = f"The rule fires from {count:,} events on. For “more than {count:,}” enter {count + 1:,}."
        yield RuleWarning(index, "count", message, is_note=True)


def _of_share(index: int, condition: Condition) -> Iterator[RuleWarning]:
    """A share of a run's usual value that was probably meant in percent."""
    if condition.kind != Condition.Kind.RUN or condition.measure == Measure.NEW_ERRORS:
        return
    if condition.threshold >= DOUBTFUL_SHARE:
        share = condition.threshold
        message = f"The rule fires above {share + 1:g} times the usual value. For {share:g} % enter the sign."
        yield RuleWarning(index, "threshold", message, (f"{share:g} %",))


def _of_unreported(index: int, condition: Condition, clusters: Sequence[Cluster]) -> Iterator[RuleWarning]:
    """A metric that no cluster in scope has reported, so that the rule can't fire."""
    fields = [field for field, _ in _metrics(condition)]
    if not clusters or not fields:
        return
    with read_connection() as connection:
        for field in fields:
            name = getattr(condition, field)
            if not clusters_with(connection, [cluster.pk for cluster in clusters], name):
                yield RuleWarning(index, field, _unreported(name, [cluster.name for cluster in clusters]))


def _unreported(metric: str, clusters: Sequence[str]) -> str:
    named = ", ".join(clusters[:MAX_NAMED])
    more = f" and {len(clusters) - MAX_NAMED:,} more" if len(clusters) > MAX_NAMED else ""
    origin = f" {METRICS[metric].origin}" if metric in METRICS else ""
    return f"No cluster in the rule's scope has reported {metric} ({named}{more}).{origin}"
