"""The choice of a known quantity in the form of a condition: it fills in the other fields.

frontend/pages/rule/quantity.js does so at once; without scripts the server does when the form is sent.
"""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any, TypedDict

from observatory.alerts.models import Condition
from observatory.alerts.rules.amounts import format_amount
from observatory.alerts.rules.condition_rows import condition_of, rows_of
from observatory.alerts.rules.conditions import AnyCondition, Measure, MetricCondition, RunCondition
from observatory.alerts.rules.quantities import QUANTITIES, Quantity, quantity_of
from observatory.alerts.rules.units import unit_of

BY_HAND = ("", "by hand")
MEASURED = (
    "kind",
    "metric",
    "labels",
    "function",
    "by",
    "aggregate",
    "quantile",
    "operation",
    "other",
    "other_metric",
    "other_labels",
    "other_attribute",
    "event",
    "pattern",
    "level",
    "measure",
)
"""the fields of a condition that say what is measured"""
LIMITS = (
    "comparison",
    "threshold",
    "clear_threshold",
    "count",
    "window_seconds",
    "run_name",
    "earlier_runs",
    "fewest_runs",
)
"""the fields that say from where on a rule fires; they can be changed without leaving the quantity"""


def quantity_choices() -> list[tuple[str, Any]]:
    """By hand, then groups of quantities."""
    groups = groupby(QUANTITIES.values(), lambda quantity: quantity.group)
    return [BY_HAND, *((group, [(each.key, each.name) for each in members]) for group, members in groups)]


class QuantityFields(TypedDict):
    """The texts of the form's fields for a quantity. The browser gets them as they are."""

    measured: dict[str, str]
    limits: dict[str, str]
    hold: str


@cache
def quantity_fields() -> dict[str, QuantityFields]:
    """By the quantities' keys."""
    return {key: _fields(quantity) for key, quantity in QUANTITIES.items()}


def _fields(quantity: Quantity) -> QuantityFields:
    [row] = rows_of([quantity.condition])
    limits = {name: str(getattr(row, name)) for name in LIMITS}
    limits["window_seconds"] = format_amount(row.window_seconds, "seconds")
    return {
        "measured": {name: str(getattr(row, name)) for name in MEASURED},
        "limits": limits | _thresholds(quantity.condition),
        "hold": format_amount(quantity.hold, "seconds"),
    }


def _thresholds(condition: AnyCondition) -> dict[str, str]:
    values: dict[str, float | None] = {"threshold": None, "clear_threshold": None}
    if isinstance(condition, MetricCondition):
        values = {"threshold": condition.threshold, "clear_threshold": condition.clear_threshold}
    elif isinstance(condition, RunCondition) and condition.measure is not Measure.NEW_ERRORS:
        values["threshold"] = condition.threshold
    unit = unit_of(condition)
    return {name: "" if value is None else format_amount(value, unit) for name, value in values.items()}


def chosen_quantity(condition: Condition) -> str:
    """The key of the quantity that a saved condition is on; "" if it was made by hand."""
    try:
        quantity = quantity_of(condition_of(condition))
    except ValueError:  # labels that can't be parsed
        return ""
    return quantity.key if quantity else ""
