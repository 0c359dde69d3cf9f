"""The quantities that the form of a rule offers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from observatory.alerts.models import Rule
from observatory.alerts.rules.condition_rows import condition_of, rows_of
from observatory.alerts.rules.conditions import By, Comparison, EventCondition, MetricCondition
from observatory.alerts.rules.quantities import QUANTITIES, Quantity, quantity_of
from observatory.alerts.rules.ready_made import BY_KEY
from observatory.alerts.rules.units import unit_of
from observatory.alerts.rules.validation import problems

EACH = pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=lambda quantity: quantity.key)


@EACH
@pytest.mark.django_db
def test_a_rule_on_a_quantity_is_valid(quantity: Quantity) -> None:
    assert problems(Rule(name="r", hold_seconds=quantity.hold), rows_of([quantity.condition])) == []


@EACH
def test_the_quantity_of_a_saved_condition_is_found_again(quantity: Quantity) -> None:
    [row] = rows_of([quantity.condition])
    assert quantity_of(condition_of(row)) == quantity


def test_another_threshold_is_the_same_quantity_and_another_subject_is_not() -> None:
    quantity = QUANTITIES["worker-memory"]
    assert isinstance(quantity.condition, MetricCondition)
    changed = replace(quantity.condition, threshold=0.5, clear_threshold=None, comparison=Comparison.BELOW)
    assert quantity_of(changed) == quantity
    assert quantity_of(replace(quantity.condition, by=By.CLUSTER)) is None
    lost = QUANTITIES["worker-lost"]
    assert isinstance(lost.condition, EventCondition)
    assert quantity_of(replace(lost.condition, count=5, window=60.0)) == lost


def test_names_of_quantities_are_unique_and_shares_are_shares() -> None:
    assert len({quantity.name for quantity in QUANTITIES.values()}) == len(QUANTITIES)
    for quantity in QUANTITIES.values():
        if "share of" in quantity.name:
            assert isinstance(quantity.condition, MetricCondition)
            assert unit_of(quantity.condition) == "ratio", quantity.key


def test_each_chart_that_names_a_quantity_names_one_of_these() -> None:
    charts = Path(__file__).resolve().parents[3] / "frontend/charts"
    text = "\n".join(path.read_text() for path in charts.rglob("*.js"))
    named = re.findall(r'^  quantity: "(.*)",$', text, re.MULTILINE)
    assert len(named) >= 9
    assert set(named) <= set(QUANTITIES)


def test_ready_made_rules_use_the_quantities() -> None:
    for key in ("worker-memory", "cluster-memory", "disk-usage", "gil-contention", "worker-lost"):
        [condition] = BY_KEY[key].conditions
        quantity = quantity_of(condition)
        assert quantity is not None
        assert (quantity.condition, quantity.hold) == (condition, BY_KEY[key].hold)
