"""The texts of an alert: its rule's texts filled in, or a sentence made from the conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from observatory.alerts.labels import labels_of
from observatory.alerts.models import Alert
from observatory.alerts.rules.amounts import format_amount
from observatory.alerts.rules.condition_rows import condition_of
from observatory.alerts.rules.conditions import (
    AnyCondition,
    Attribute,
    By,
    Comparison,
    EventCondition,
    Function,
    Measure,
    MetricCondition,
    RuleSpec,
    RunCondition,
    Selector,
)
from observatory.alerts.rules.events import RULE_EVENTS
from observatory.alerts.rules.number_formats import format_as
from observatory.alerts.rules.placeholders import LABEL, VALUE_FORMAT, fill
from observatory.alerts.rules.units import format_value, unit_of
from observatory.wire.event_kinds import EVENT_KINDS
from observatory.wire.records import clean_text

MAX_LENGTH = 1000
"""characters of a message; the size of Alert's column"""
MAX_PART = 300


def message(alert: Alert, spec: RuleSpec, text: str = "") -> str:
    """The message of an alert whose value is set. `text` is the message of the event."""
    template = alert.rule.message.strip()
    if not template:
        return _bounded(_sentence(alert, spec, text))
    return _bounded(_filled(template, alert, spec.conditions[0], text))


def description_of(alert: Alert) -> str:
    """What the alert means: its rule's description, filled in."""
    return _rule_text(alert, alert.rule.description)


def advice_of(alert: Alert) -> str:
    """What to do: its rule's advice, filled in."""
    return _rule_text(alert, alert.rule.advice)


def _rule_text(alert: Alert, template: str) -> str:
    """Reads the rule's conditions only for a text with braces; as it is if they can't be evaluated."""
    if "{" not in template:
        return template
    row = alert.rule.conditions.first()
    try:
        return template if row is None else _filled(template, alert, condition_of(row), None)
    except ValueError:
        return template


def _filled(template: str, alert: Alert, condition: AnyCondition, text: str | None) -> str:
    def value_of(name: str) -> str | None:
        part = _part(name, alert, condition, text)
        return None if part is None else _bounded(part, MAX_PART)

    return fill(template, value_of)


def _part(name: str, alert: Alert, condition: AnyCondition, text: str | None) -> str | None:
    if name.startswith(VALUE_FORMAT):
        return format_as(alert.value, name.removeprefix(VALUE_FORMAT))
    if name.startswith(LABEL):
        return labels_of(alert).get(name.removeprefix(LABEL), "")
    match name:
        case "cluster":
            return alert.cluster.name
        case "worker":
            return str(alert.labels.get("worker", ""))
        case "value":
            return _value(condition, alert.value)
        case "threshold":
            return _threshold(condition)
        case "labels":
            return _labels(alert.labels)
    return text


def _sentence(alert: Alert, spec: RuleSpec, text: str) -> str:
    first, *others = spec.conditions
    where, sentence = _bounded(alert.cluster.name, MAX_PART), _clause(first)
    detail = f": {_bounded(text, MAX_PART)}" if text else ""
    if isinstance(first, MetricCondition):
        is_absent = first.comparison is Comparison.ABSENT
        value = "" if is_absent else f"{_value(first, alert.value)}, "
        sentence += f"{_of(alert.labels)} is {value}{_limit(first)}"
    elif text and isinstance(first, EventCondition) and first.event in EVENT_KINDS and first.count == 1:
        # the event's message is a sentence of its own, which names its worker
        sentence, detail = _bounded(text, MAX_PART), ""
    else:
        if alert.labels.get("worker"):
            where += f", {_bounded(str(alert.labels['worker']), MAX_PART)}"
        if _is_counted(first):
            sentence = _event(first, _value(first, alert.value))
            detail = detail and f"; the last time{detail}"
    for other in others:
        sentence += f", and {_clause(other)}"
        if isinstance(other, MetricCondition):
            sentence += f" is {_limit(other)}"
    if spec.hold:
        sentence += f", for {format_amount(spec.hold, 'seconds')}"
    return f"{where}: {sentence}{detail}"


def _clause(condition: AnyCondition) -> str:
    match condition:
        case MetricCondition():
            return _metric(condition)
        case RunCondition():
            return _run(condition)
    return _event(condition)


def _metric(condition: MetricCondition) -> str:
    sentence = _selector(condition.selector)
    if condition.by is By.CLUSTER:
        sentence = f"the {condition.aggregate.label} of {sentence}"
    if isinstance(condition.other, Attribute):
        sentence += f" {condition.operation} {condition.other.label.split(' (')[0]}"
    elif condition.other is not None:
        sentence += f" {condition.operation} {_selector(condition.other)}"
    return sentence


def _selector(selector: Selector) -> str:
    matchers = ", ".join(map(str, selector.matchers))
    series = f"{selector.metric}{{{matchers}}}" if matchers else selector.metric
    if selector.function is Function.VALUE:
        return series
    return f"the {selector.function.value} of {series} over {format_amount(selector.window, 'seconds')}"


def _event(condition: EventCondition, times: str = "") -> str:
    """`times`: how often it happened; without it the sentence has the least number."""
    words = RULE_EVENTS[condition.event].label.split(" (")[0]
    if condition.pattern:
        words += f" “{condition.pattern}”"
    if _is_counted(condition):
        often = f"{times} times" if times else f"{condition.count} times or more"
        words += f" {often} within {format_amount(condition.window, 'seconds')}"
    return words


def _is_counted(condition: AnyCondition) -> TypeGuard[EventCondition]:
    if not isinstance(condition, EventCondition):
        return False
    return condition.count > 1 and not RULE_EVENTS[condition.event].is_lasting


def _run(condition: RunCondition) -> str:
    if condition.measure is Measure.NEW_ERRORS:
        return f"a run had {condition.measure.label}"
    by = f"{condition.comparison.label} the usual by {_threshold(condition)}"
    return f"the {condition.measure.label} of a run is {by}"


def _of(labels: Mapping[str, str]) -> str:
    others = {name: value for name, value in labels.items() if name != "worker"}
    of = f" of {_bounded(str(labels['worker']), MAX_PART)}" if labels.get("worker") else ""
    return f"{of} ({_labels(others)})" if others else of


def _labels(labels: Mapping[str, str]) -> str:
    sentence = ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))
    return _bounded(sentence, MAX_PART)


def _value(condition: AnyCondition, value: float | None) -> str:
    return format_value(value, unit_of(condition))


def _limit(condition: MetricCondition) -> str:
    return f"{condition.comparison.label} {_threshold(condition)}".strip()


def _threshold(condition: AnyCondition) -> str:
    if isinstance(condition, EventCondition):
        return str(condition.count)
    if condition.comparison is Comparison.ABSENT:
        return ""
    return format_value(condition.threshold, unit_of(condition))


def _bounded(text: str, max_length: int = MAX_LENGTH) -> str:
    return clean_text(text, max_length)
