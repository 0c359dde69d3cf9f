"""Conditions as rows of their table, not saved yet: what specs.py reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from observatory.alerts.models import Condition
from observatory.alerts.rules.conditions import (
    AnyCondition,
    Attribute,
    EventCondition,
    Function,
    MetricCondition,
    Selector,
)


def rows_of(conditions: Iterable[AnyCondition]) -> list[Condition]:
    """In their order, without a rule."""
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
        **_divisor(condition),
        **fields,
    )


def _divisor(condition: MetricCondition) -> dict[str, Any]:
    divisor = condition.divisor
    if divisor is None:
        return {}
    if isinstance(divisor, Attribute):
        return {"divisor": Condition.Divisor.ATTRIBUTE, "divisor_attribute": divisor}
    return {
        "divisor": Condition.Divisor.METRIC,
        "divisor_metric": divisor.metric,
        "divisor_labels": _labels(divisor),
    }


def _labels(selector: Selector) -> str:
    return ", ".join(map(str, selector.matchers))
