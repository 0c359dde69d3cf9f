"""The conditions of rules in files: a known quantity with its limits, or all fields by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from observatory.alerts.admin.quantity_choice import LIMITS, MEASURED, chosen_quantity, quantity_fields
from observatory.alerts.admin.rule_form import PREFIX, value_unit
from observatory.alerts.models import Condition
from observatory.alerts.rules.amounts import format_amount
from observatory.alerts.rules.condition_rows import rows_of
from observatory.alerts.rules.conditions import Aggregate, AnyCondition, Measure
from observatory.runtime.configuration.fields import Value, refuse_unknown_keys, text_of
from observatory.runtime.configuration.nodes import Mapping, Node, Problems, Scalar, Sequence, nearest

KEY = "conditions"
QUANTITY = "quantity"
NAMES = (*MEASURED, *LIMITS)


def read_conditions(
    rule: Mapping, default: Iterable[AnyCondition], problems: Problems
) -> list[dict[str, str]]:
    """The texts of the form's fields of each condition; of the default ones, where none are written."""
    node = rule.entries.get(KEY)
    if node is None or (isinstance(node, Scalar) and node.text is None):
        return [_texts(row) for row in rows_of(default)]
    if not isinstance(node, Sequence):
        problems.add(node.place, "Write a list of conditions here.")
        return []
    return [_read(item, problems) for item in node.items]


def _read(node: Node, problems: Problems) -> dict[str, str]:
    if not isinstance(node, Mapping):
        problems.add(node.place, "A condition is an object, with a quantity, or with kind and metric.")
        return {}
    refuse_unknown_keys(node, (QUANTITY, *NAMES), problems)
    given = {name: text_of(node.entries[name], problems) or "" for name in NAMES if name in node.entries}
    written = node.entries.get(QUANTITY)
    key = text_of(written, problems) if written else None
    if written is None or not key:
        return {**_defaults(), **given}
    if key not in quantity_fields():
        problems.add(written.place, f"There is no such quantity. {nearest(key, quantity_fields())}")
        return {}
    known = _of_quantity(key)
    if "threshold" in given and "clear_threshold" not in given:
        known["clear_threshold"] = ""  # it belongs to the threshold of the quantity
    return {**known, **given}


def conditions_data(conditions: list[dict[str, str]]) -> dict[str, Any]:
    """As the admin's form sends them."""
    data: dict[str, Any] = {f"{PREFIX}-TOTAL_FORMS": str(len(conditions))}
    for number, texts in enumerate(conditions):
        data |= {f"{PREFIX}-{number}-{name}": text for name, text in texts.items()}
    return data


def written_condition(row: Condition) -> dict[str, Value]:
    """What a file says of a condition: what differs from its quantity, or from a new one."""
    texts = _texts(row)
    quantity = chosen_quantity(row)
    if not quantity:
        defaults = _defaults()
        always = {"kind", "metric"} if row.kind == Condition.Kind.METRIC else {"kind"}
        if row.aggregate != Aggregate.QUANTILE:
            texts["quantile"] = defaults["quantile"]  # whatever it is, it isn't used
        written = {name: text for name, text in texts.items() if name in always or text != defaults[name]}
        return {name: _number(text) for name, text in written.items() if text != ""}
    known = _of_quantity(quantity)
    written = {name: texts[name] for name in LIMITS if texts[name] != known[name]}
    if known["threshold"]:
        written.pop("clear_threshold", None)
        written |= {name: texts[name] for name in ("threshold", "clear_threshold") if texts[name]}
    return {QUANTITY: quantity, **{name: _number(text) for name, text in written.items()}}


def _of_quantity(key: str) -> dict[str, str]:
    fields = quantity_fields()[key]
    return {**fields["measured"], **fields["limits"]}


def _defaults() -> dict[str, str]:
    return _texts(Condition()) | {"threshold": ""}


def _texts(row: Condition) -> dict[str, str]:
    """The form's texts of a row."""
    texts = {name: str(getattr(row, name)) for name in NAMES}
    texts["window_seconds"] = format_amount(float(row.window_seconds), "seconds")
    is_of_new_errors = row.kind == Condition.Kind.RUN and row.measure == Measure.NEW_ERRORS
    is_measured = row.kind != Condition.Kind.EVENT and not is_of_new_errors
    for name in ("threshold", "clear_threshold"):
        value = getattr(row, name)
        shown = is_measured and value is not None
        texts[name] = format_amount(float(value), value_unit(row)) if shown else ""
    return texts


def _number(text: str) -> Value:
    """Numbers look better without quotation marks."""
    for kind in (int, float):
        try:
            if str(kind(text)) == text:
                return kind(text)
        except ValueError:
            continue
    return text
