"""Reads a Prometheus rule file into rules, and lists what isn't supported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import promql_parser as promql

from observatory.alerts.models import DAY, Condition, Rule, Severity
from observatory.alerts.prometheus.document import WrittenRule, read_document
from observatory.alerts.prometheus.expressions import Unsupported, read_expression
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
"""names of annotations; the first one present is used"""


@dataclass(frozen=True, slots=True)
class ReadRule:
    rule: Rule
    """unsaved"""
    conditions: tuple[AnyCondition, ...]
    notes: tuple[str, ...]
    """differences from the file"""

    @property
    def rows(self) -> list[Condition]:
        return rows_of(self.conditions)


@dataclass(frozen=True, slots=True)
class LeftOut:
    name: str
    part: str
    """the unsupported part of the expression, or "" """
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.part}: {self.why}" if self.part else f"{self.name}: {self.why}"


@dataclass(frozen=True, slots=True)
class Reading:
    rules: list[ReadRule]
    left_out: list[LeftOut]


def read_rules(text: str) -> Reading:
    """Raises DocumentError for a text that isn't a rule file."""
    reading = Reading([], [])
    for written in read_document(text):
        name = clean_text(written.name, 150) or "a rule without a name"
        try:
            reading.rules.append(_read(written))
        except Unsupported as unfit:
            reading.left_out.append(LeftOut(name, unfit.part, unfit.why))
    return reading


def _read(written: WrittenRule) -> ReadRule:
    if written.is_recording:
        raise Unsupported("", "is a recording rule; only alerting rules are supported")
    if not written.name or len(written.name) > 100 or not written.name.isprintable():
        raise Unsupported("", "the name isn't a line of at most 100 characters")
    if not written.expression:
        raise Unsupported("", "“expr” is missing")
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
        raise Unsupported(text[:60], "“for” isn't a duration such as 5m") from None
    if hold > DAY:
        raise Unsupported(text, "“for” is longer than a day")
    return hold


def _notes(written: WrittenRule, severity: Severity | None) -> Iterator[str]:
    if severity is None:
        yield f"the severity {written.labels['severity'][:60]!r} was replaced by warning"
    others = sorted(written.labels.keys() - {"severity"})
    if others:
        yield f"unsupported labels: {', '.join(others)[:200]}"
    if written.keep_firing:
        yield "keep_firing_for isn't supported; use a clear threshold instead"


def _annotations(annotations: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The fields of a rule, and notes on differences."""
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
        notes.append(f"unsupported annotations: {', '.join(others)[:200]}")
    return fields, notes


def _placeholder(template: str, notes: list[str]) -> str:
    for placeholder, pattern in PLACEHOLDERS.items():
        if pattern.search(template.strip()):
            return placeholder
    notes.append(f"a template was left out: {{{{{' '.join(template.split())[:60]}}}}}")
    return ""
