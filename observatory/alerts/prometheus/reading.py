"""Reads a rule file of Prometheus or Grafana into rules, and lists what isn't supported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import promql_parser as promql

from observatory.alerts.models import DAY, Condition, Rule, Severity
from observatory.alerts.prometheus.document import WrittenRule, read_document
from observatory.alerts.prometheus.expressions import Conditions, read_expression
from observatory.alerts.prometheus.refusals import Unsupported, ready_made_for
from observatory.alerts.prometheus.templates import TemplateReader
from observatory.alerts.rules.condition_rows import rows_of
from observatory.alerts.rules.conditions import AnyCondition, EventCondition, MetricCondition
from observatory.alerts.rules.events import RULE_EVENTS
from observatory.alerts.rules.ready_made import BY_KEY
from observatory.alerts.rules.units import unit_of
from observatory.wire.records import clean_text

SEVERITIES = {
    **dict.fromkeys(("critical", "page", "error", "emergency", "fatal"), Severity.CRITICAL),
    **dict.fromkeys(("warning", "warn", "ticket"), Severity.WARNING),
    **dict.fromkeys(("info", "information", "none", "notice"), Severity.INFO),
}
MESSAGE, DESCRIPTION, ADVICE = (
    ("summary", "message", "title"),
    ("description",),
    ("advice", "action", "runbook_url"),
)
"""names of annotations; the first one present is used"""


@dataclass(frozen=True, slots=True)
class ReadRule:
    rule: Rule
    """unsaved"""
    expression: str
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
    ready_made: str = ""
    """the name of the ready-made rule that does it, if there is one"""

    def __str__(self) -> str:
        text = f"{self.name}: {self.part}: {self.why}" if self.part else f"{self.name}: {self.why}"
        return f"{text}; the ready-made rule {self.ready_made} does it" if self.ready_made else text


def left_out(name: str, expression: str, part: str, why: str) -> LeftOut:
    """With the ready-made rule that does what the expression is for, if there is one."""
    known = BY_KEY.get(ready_made_for(expression))
    return LeftOut(name, part, why, known.name if known else "")


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
            reading.left_out.append(left_out(name, written.expression, unfit.part, unfit.why))
    return reading


def _read(written: WrittenRule) -> ReadRule:
    if written.is_recording:
        raise Unsupported("", "is a recording rule; only alerting rules are supported")
    if not written.name or len(written.name) > 100 or not written.name.isprintable():
        raise Unsupported("", "the name isn't a line of at most 100 characters")
    if written.refusal:
        raise Unsupported("", written.refusal)
    if not written.expression:
        raise Unsupported("", "“expr” is missing")
    read = read_expression(written.expression)
    hold = _hold(written.hold)
    passing = _passing_event(read.conditions)
    if hold and passing:
        read_notes = (*read.notes, f"“for” ({written.hold}) is left out: {passing} isn't a lasting state")
        read, hold = replace(read, notes=read_notes), 0.0
    severity = SEVERITIES.get(written.labels.get("severity", "").lower(), Severity.WARNING)
    reader = template_reader(read)
    texts, notes = _texts(written.annotations, reader)
    rule = Rule(name=written.name, severity=severity, hold_seconds=hold, **texts)
    found = (*read.notes, *_notes(written, severity), *notes, *dict.fromkeys(reader.notes))
    return ReadRule(rule, written.expression, read.conditions, found)


def _passing_event(conditions: Iterable[AnyCondition]) -> str:
    """The label of an event among the conditions that isn't a lasting state; "" for none."""
    events = [RULE_EVENTS[each.event] for each in conditions if isinstance(each, EventCondition)]
    return next((event.label for event in events if not event.is_lasting), "")


def template_reader(read: Conditions) -> TemplateReader:
    first = read.conditions[0]
    unit = unit_of(first) if isinstance(first, MetricCondition) else ""
    return TemplateReader(first.by, unit, read.is_scaled)


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


def _notes(written: WrittenRule, severity: Severity) -> Iterator[str]:
    given = written.labels.get("severity")
    if given is None:
        yield f"it has no severity: it became a {severity}"
    elif given != severity:
        known = "" if given.lower() in SEVERITIES else ", because it isn't known"
        yield f"the severity {given[:60]!r} became {severity}{known}"
    for name, value in sorted(written.labels.items()):
        if name != "severity":
            yield f"the label {name[:60]}={value[:60]!r} is left out: alerts have the labels of their data"
    if written.keep_firing:
        yield f"keep_firing_for ({written.keep_firing[:60]}) is left out: use a clear threshold instead"
    for name, value in sorted(written.others.items()):
        why = "rules are evaluated every 2 seconds" if name.endswith("interval") else "it isn't supported"
        yield f"{name[:60]} ({value[:60]}) is left out: {why}"


def _texts(annotations: Mapping[str, str], reader: TemplateReader) -> tuple[dict[str, str], list[str]]:
    """The texts of a rule, and notes on differences."""
    notes: list[str] = []
    texts: dict[str, str] = {}
    for field, names, longest in (
        ("message", MESSAGE, 500),
        ("description", DESCRIPTION, 2000),
        ("advice", ADVICE, 2000),
    ):
        name = next((name for name in names if name in annotations), None)
        if name is None:
            continue
        is_message = field == "message"
        text = reader.read(annotations[name], is_message)
        if len(text) > longest:
            notes.append(f"{name} was cut at {longest} characters")
        texts[field] = clean_text(" ".join(text.split()) if is_message else text, longest)
        others = [other for other in names if other != name and other in annotations]
        notes += [f"the annotation {other} is left out: {name} is used instead" for other in others]
    unused = sorted(annotations.keys() - {*MESSAGE, *DESCRIPTION, *ADVICE})
    notes += [f"the annotation {name[:60]} is left out: a rule has no such text" for name in unused]
    return texts, notes
