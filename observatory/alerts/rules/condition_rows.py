"""Converts conditions between their table rows and the types that rules are evaluated with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from observatory.alerts.models import Condition, Rule
from observatory.alerts.rules.conditions import (
    Aggregate,
    AnyCondition,
    Attribute,
    By,
    Comparison,
    EventCondition,
    Function,
    Measure,
    MetricCondition,
    NoData,
    Operation,
    RuleSpec,
    RunCondition,
    Selector,
)
from observatory.alerts.silences.matchers import parse_matchers

COUNTERS = ("_total", "_sum", "_count")
"""endings of the names of counters, by Prometheus' convention"""


def spec_of(rule: Rule, conditions: Sequence[Condition]) -> RuleSpec:
    """A rule and its conditions, in their order, which may be unsaved.

    Raises MatcherError for invalid labels and ValueError for an unknown choice.
    """
    return RuleSpec(
        tuple(condition_of(condition) for condition in conditions),
        float(rule.hold_seconds),
        NoData(rule.no_data),
    )


def condition_of(condition: Condition) -> AnyCondition:
    if condition.kind == Condition.Kind.EVENT:
        return EventCondition(
            event=condition.event,
            by=By(condition.by),
            count=condition.count,
            window=float(condition.window_seconds),
            pattern=condition.pattern,
            level=condition.level,
        )
    if condition.kind == Condition.Kind.RUN:
        return RunCondition(
            measure=Measure(condition.measure),
            comparison=Comparison(condition.comparison),
            threshold=float(condition.threshold),
            earlier=condition.earlier_runs,
            fewest=condition.fewest_runs,
            name=condition.run_name,
            window=float(condition.window_seconds),
        )
    return MetricCondition(
        selector=_selector_of(condition, condition.metric, condition.labels, Function(condition.function)),
        by=By(condition.by),
        aggregate=Aggregate(condition.aggregate),
        comparison=Comparison(condition.comparison),
        threshold=float(condition.threshold),
        clear_threshold=None if condition.clear_threshold is None else float(condition.clear_threshold),
        quantile=float(condition.quantile),
        other=_other_of(condition),
        operation=Operation(condition.operation),
    )


def _other_of(condition: Condition) -> Selector | Attribute | None:
    match condition.other:
        case Condition.Other.METRIC:
            metric = condition.other_metric
            # a counter is divided by with the same function as the dividend, a gauge by its value
            function = Function(condition.function) if metric.endswith(COUNTERS) else Function.VALUE
            return _selector_of(condition, metric, condition.other_labels, function)
        case Condition.Other.ATTRIBUTE:
            return Attribute(condition.other_attribute)
        case _:
            return None


def _selector_of(condition: Condition, metric: str, labels: str, function: Function) -> Selector:
    window = 0.0 if function == Function.VALUE else float(condition.window_seconds)
    return Selector(metric, parse_matchers(labels), function, window)


def rows_of(conditions: Iterable[AnyCondition]) -> list[Condition]:
    """Unsaved rows in the same order, without a rule."""
    return [_row(position, condition) for position, condition in enumerate(conditions)]


def _row(position: int, condition: AnyCondition) -> Condition:
    if isinstance(condition, EventCondition):
        return Condition(
            position=position,
            kind=Condition.Kind.EVENT,
            event=condition.event,
            by=condition.by,
            count=condition.count,
            window_seconds=condition.window,
            pattern=condition.pattern,
            level=condition.level,
        )
    if isinstance(condition, RunCondition):
        return Condition(
            position=position,
            kind=Condition.Kind.RUN,
            measure=condition.measure,
            by=condition.by,
            comparison=condition.comparison,
            threshold=condition.threshold,
            earlier_runs=condition.earlier,
            fewest_runs=condition.fewest,
            run_name=condition.name,
            window_seconds=condition.window,
        )
    fields: dict[str, Any] = {}
    if condition.selector.function is not Function.VALUE:
        fields["window_seconds"] = condition.selector.window
    return Condition(
        position=position,
        kind=Condition.Kind.METRIC,
        metric=condition.selector.metric,
        labels=_labels(condition.selector),
        function=condition.selector.function,
        by=condition.by,
        aggregate=condition.aggregate,
        quantile=condition.quantile,
        comparison=condition.comparison,
        threshold=condition.threshold,
        clear_threshold=condition.clear_threshold,
        operation=condition.operation,
        **_other(condition),
        **fields,
    )


def _other(condition: MetricCondition) -> dict[str, Any]:
    other = condition.other
    if other is None:
        return {}
    if isinstance(other, Attribute):
        return {"other": Condition.Other.ATTRIBUTE, "other_attribute": other}
    return {
        "other": Condition.Other.METRIC,
        "other_metric": other.metric,
        "other_labels": _labels(other),
    }


def _labels(selector: Selector) -> str:
    return ", ".join(map(str, selector.matchers))
