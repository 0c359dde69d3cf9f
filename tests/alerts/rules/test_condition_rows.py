"""Rows of the database as what they ask."""

from __future__ import annotations

import pytest

from observatory.alerts.models import Condition, Rule
from observatory.alerts.rules.condition_rows import condition_of, rows_of, spec_of
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    EventCondition,
    Function,
    MetricCondition,
    NoData,
    Operation,
    RuleSpec,
    Selector,
)
from observatory.alerts.silences.matchers import MatcherError, parse_matchers


def test_an_unsaved_rule_can_be_converted() -> None:
    metric = Condition(
        metric="memory",
        labels='type="process"',
        aggregate="max",
        threshold=0.9,
        clear_threshold=0.8,
        other="attribute",
        other_attribute="memory_limit",
    )
    event = Condition(kind=Condition.Kind.EVENT, event="log", level=30, pattern="x", by="cluster", count=3)
    assert spec_of(Rule(hold_seconds=5, no_data="keep"), [metric, event]) == RuleSpec(
        (
            MetricCondition(
                Selector("memory", parse_matchers('type="process"')),
                By.WORKER,
                Aggregate.MAX,
                Comparison.ABOVE,
                0.9,
                0.8,
                quantile=0.95,
                other=Attribute.MEMORY_LIMIT,
            ),
            EventCondition("log", By.CLUSTER, 3, 60.0, "x", 30),
        ),
        5.0,
        NoData.KEEP,
    )


@pytest.mark.parametrize(
    ("metric", "function", "window"),
    [("seconds_total", Function.RATE, 30.0), ("threads", Function.VALUE, 0.0)],
)
def test_counters_are_divided_by_with_the_same_function_and_other_metrics_by_their_value(
    metric: str, function: Function, window: float
) -> None:
    row = Condition(
        metric="busy_total", function="rate", window_seconds=30, other="metric", other_metric=metric
    )
    condition = condition_of(row)
    assert isinstance(condition, MetricCondition)
    assert condition.selector == Selector("busy_total", (), Function.RATE, 30.0)
    assert condition.other == Selector(metric, (), function, window)


def test_a_difference_is_stored_as_it_was_read() -> None:
    condition = MetricCondition(
        Selector("a"),
        By.CLUSTER,
        Aggregate.SUM,
        Comparison.NOT_EQUAL,
        0,
        other=Selector("b"),
        operation=Operation.SUBTRACT,
    )
    [row] = rows_of([condition])
    assert condition_of(row) == condition


def test_invalid_labels_are_rejected() -> None:
    with pytest.raises(MatcherError, match="not as: type"):
        condition_of(Condition(metric="memory", labels="type"))
