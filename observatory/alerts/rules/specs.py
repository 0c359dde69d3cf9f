"""What the rules of the database ask, as evaluator and back-test speak of it."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.alerts.models import Condition, Rule
from observatory.alerts.rules.conditions import (
    Aggregate,
    AnyCondition,
    Attribute,
    By,
    Comparison,
    EventCondition,
    Function,
    MetricCondition,
    NoData,
    RuleSpec,
    Selector,
)
from observatory.alerts.silences.matchers import parse_matchers

COUNTERS = ("_total", "_sum", "_count")
"""how the names of counters end, as Prometheus has it"""


def spec_of(rule: Rule, conditions: Sequence[Condition]) -> RuleSpec:
    """What a rule asks with its conditions, in their order; they may be unsaved.

    Raises MatcherError for labels that are none, and ValueError for a word that isn't known.
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
    return MetricCondition(
        selector=_selector(condition, condition.metric, condition.labels, Function(condition.function)),
        by=By(condition.by),
        aggregate=Aggregate(condition.aggregate),
        comparison=Comparison(condition.comparison),
        threshold=float(condition.threshold),
        clear_threshold=None if condition.clear_threshold is None else float(condition.clear_threshold),
        quantile=float(condition.quantile),
        divisor=_divisor(condition),
    )


def _divisor(condition: Condition) -> Selector | Attribute | None:
    match condition.divisor:
        case Condition.Divisor.METRIC:
            metric = condition.divisor_metric
            # a counter's value says nothing: its rate is divided by, where a rate is; a gauge's value is
            function = Function(condition.function) if metric.endswith(COUNTERS) else Function.VALUE
            return _selector(condition, metric, condition.divisor_labels, function)
        case Condition.Divisor.ATTRIBUTE:
            return Attribute(condition.divisor_attribute)
        case _:
            return None


def _selector(condition: Condition, metric: str, labels: str, function: Function) -> Selector:
    window = 0.0 if function == Function.VALUE else float(condition.window_seconds)
    return Selector(metric, parse_matchers(labels), function, window)
