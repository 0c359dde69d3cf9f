"""A file of Prometheus' alerting rules → rules of ours, and by name what doesn't fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import promql_parser as promql

from observatory.alerts.models import DAY, Condition, Rule, Severity
from observatory.alerts.prometheus.document import WrittenRule, read_document
from observatory.alerts.prometheus.expressions import Unfit, read_expression
from observatory.alerts.rules.condition_rows import rows_of
from observatory.alerts.rules.conditions import AnyCondition
from observatory.wire.records import clean_text

SEVERITIES = {
    **dict.fromkeys(("critical", "page", "error", "emergency", "fatal"), Severity.CRITICAL),
    **dict.fromkeys(("warning", "warn", "ticket"), Severity.WARNING),
    **dict.fromkeys(("info", "information", "none", "notice"), Severity.INFO),
}
TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
PLACEHOLDERS = {
    "{value}": re.compile(r"\$value\b|\.Value\b"),
    "{worker}": re.compile(r"(?:\$labels|\.Labels)\.(?:instance|worker|pod)\b"),
    "{cluster}": re.compile(r"(?:\$labels|\.Labels)\.cluster\b"),
    "{labels}": re.compile(r"(?:\$labels|\.Labels)\s*$"),
}
MESSAGE, DESCRIPTION, ADVICE = ("summary", "message"), ("description",), ("advice", "action", "runbook_url")
"""annotations, the first that is there"""


@dataclass(frozen=True, slots=True)
class ReadRule:
    rule: Rule
    """unsaved"""
    conditions: tuple[AnyCondition, ...]
    notes: tuple[str, ...]
    """what of it isn't kept, or became another"""

    @property
    def rows(self) -> list[Condition]:
        return rows_of(self.conditions)


@dataclass(frozen=True, slots=True)
class LeftOut:
    name: str
    part: str
    """of the expression, or ""; where it doesn't fit"""
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.part}: {self.why}" if self.part else f"{self.name}: {self.why}"


@dataclass(frozen=True, slots=True)
class Reading:
    rules: list[ReadRule]
    left_out: list[LeftOut]


def read_rules(text: str) -> Reading:
    """Raises DocumentError for what is no file of rules."""
    reading = Reading([], [])
    for written in read_document(text):
        name = clean_text(written.name, 150) or "a rule without a name"
        try:
            reading.rules.append(_read(written))
        except Unfit as unfit:
            reading.left_out.append(LeftOut(name, unfit.part, unfit.why))
    return reading


def _read(written: WrittenRule) -> ReadRule:
    if written.is_recording:
        raise Unfit("", "is a recording rule; ours raise alerts")
    if not written.name or len(written.name) > 100 or not written.name.isprintable():
        raise Unfit("", "a rule's name is a line of at most 100 characters")
    if not written.expression:
        raise Unfit("", "it has no “expr”")
    read = read_expression(written.expression)
    hold = _hold(written.hold)
    severity = SEVERITIES.get(written.labels.get("severity", "warning").lower())
    annotations, notes = _annotations(written.annotations)
    rule = Rule(name=written.name, severity=severity or Severity.WARNING, hold_seconds=hold, **annotations)
    return ReadRule(rule, read.conditions, (*read.notes, *_notes(written, severity), *notes))


def _hold(text: str) -> float:
    if not text or text == "0":
        return 0.0
    try:
        hold = promql.parse_duration(text).total_seconds()
    except ValueError:
        raise Unfit(text[:60], "“for” is no duration as Prometheus writes them: 5m") from None
    if hold > DAY:
        raise Unfit(text, "“for” is at most a day")
    return hold


def _notes(written: WrittenRule, severity: Severity | None) -> Iterator[str]:
    if severity is None:
        yield f"the severity {written.labels['severity'][:60]!r} became a warning"
    others = sorted(written.labels.keys() - {"severity"})
    if others:
        yield f"labels that rules of ours don't have: {', '.join(others)[:200]}"
    if written.keep_firing:
        yield "keep_firing_for isn't kept; a rule can have a threshold of its own at which it ends"


def _annotations(annotations: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The fields of a rule, and what isn't kept."""
    notes: list[str] = []
    fields: dict[str, str] = {}
    kept: set[str] = set()
    for field, names, longest in (
        ("message", MESSAGE, 500),
        ("description", DESCRIPTION, 2000),
        ("advice", ADVICE, 2000),
    ):
        name = next((name for name in names if name in annotations), None)
        if name is None:
            continue
        kept.add(name)
        text = TEMPLATE.sub(lambda match: _placeholder(match[1], notes), annotations[name])
        if len(text) > longest:
            notes.append(f"{name} was cut at {longest} characters")
        fields[field] = clean_text(" ".join(text.split()) if field == "message" else text, longest)
    if others := sorted(annotations.keys() - kept):
        notes.append(f"annotations that rules of ours don't have: {', '.join(others)[:200]}")
    return fields, notes


def _placeholder(template: str, notes: list[str]) -> str:
    for placeholder, pattern in PLACEHOLDERS.items():
        if pattern.search(template.strip()):
            return placeholder
    notes.append(f"a template was left out: {{{{{' '.join(template.split())[:60]}}}}}")
    return ""
