"""Writes rules as a Prometheus rule file. Comments list what PromQL can't express."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import yaml

from observatory.alerts.models import Rule
from observatory.alerts.prometheus.labels import THREADS, WORKER
from observatory.alerts.prometheus.metric_types import is_counter
from observatory.alerts.prometheus.templates import write_template
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    EventCondition,
    Function,
    MetricCondition,
    NoData,
    RuleSpec,
    RunCondition,
    Selector,
)
from observatory.alerts.rules.units import format_value, unit_of
from observatory.alerts.silences.matchers import Matcher
from observatory.wire.metrics import METRICS

AGGREGATES = {
    Aggregate.SUM: "sum",
    Aggregate.MEAN: "avg",
    Aggregate.MIN: "min",
    Aggregate.MAX: "max",
    Aggregate.QUANTILE: "quantile",
}
PLAIN = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
"""names of metrics that PromQL accepts without quotation marks"""
HEAD = """\
# Alerting rules of Dask Observatory for Prometheus.
# Metrics whose names begin with observatory_ are Observatory's own: Prometheus doesn't have them unless you
# export them there. Metrics of Dask (dask_…) are those that its schedulers and workers report on /metrics.
# The label cluster in texts is the name of a Dask cluster: add it to your scrape configuration.
"""


class NotExpressible(ValueError):
    """PromQL can't express it; the message says what."""


def write_rules(rules: Iterable[tuple[Rule, RuleSpec]]) -> str:
    """A file with the rules that can be expressed, after comments that list the others."""
    written_rules, notes = [], []
    for rule, spec in rules:
        name = " ".join(rule.name.split())
        if not rule.enabled:
            notes.append(f"# Left out: {name}: it is disabled.")
            continue
        try:
            written_rules.append(_rule(rule, spec))
        except NotExpressible as error:
            notes.append(f"# Left out: {name}: {error}.")
        else:
            notes += [f"# {name}: {note}." for note in _notes(rule, spec)]
    groups = [{"name": "observatory", "rules": written_rules}] if written_rules else []
    written = yaml.safe_dump({"groups": groups}, sort_keys=False, allow_unicode=True, width=1000)
    return HEAD + "".join(f"{_comment(note)}\n" for note in notes) + written


def expression(conditions: Sequence[Any]) -> str:
    """Raises NotExpressible."""
    if not conditions:
        raise NotExpressible("it has no condition")
    first, *others = [_metric(condition) for condition in conditions]
    text = _comparison(first)
    for condition in others:
        text += f" and {_joined(first, condition)}{_comparison(condition)}"
    return text


def _rule(rule: Rule, spec: RuleSpec) -> dict[str, Any]:
    written: dict[str, Any] = {"alert": rule.name, "expr": expression(spec.conditions)}
    if spec.hold:
        written["for"] = _duration(spec.hold)
    written["labels"] = {"severity": str(rule.severity)}
    first = _metric(spec.conditions[0])
    unit = unit_of(first)
    threshold = format_value(first.threshold, unit)
    annotations = {"summary": rule.message, "description": rule.description, "advice": rule.advice}
    written["annotations"] = {
        name: write_template(text, unit, threshold) for name, text in annotations.items() if text
    }
    return written


def _notes(rule: Rule, spec: RuleSpec) -> Iterator[str]:
    """Parts of an expressible rule that are lost."""
    if spec.no_data is not NoData.RESOLVE:
        yield f"without data {spec.no_data.label}, which PromQL can't express"
    for condition in spec.conditions:
        if isinstance(condition, MetricCondition):
            if condition.clear_threshold is not None:
                yield f"it has the clear threshold {condition.clear_threshold:g}, which PromQL can't express"
            if any(matcher.label == "worker" for matcher in condition.selector.matchers):
                yield "the label worker is a worker's name, which Prometheus has only with relabelling"
            for selector in (condition.selector, condition.other):
                if isinstance(selector, Selector):
                    yield from _selector_notes(selector)
    if "{text}" in rule.message:
        yield "{text}, the message of an event, is left out of its message"
    if rule.pk and (rule.cluster_names or rule.projects.exists() or rule.targets.exists()):
        yield "it applies to some projects, targets or clusters only; add matching labels"


def _selector_notes(selector: Selector) -> Iterator[str]:
    if selector.function is Function.RATE and not is_counter(selector.metric):
        yield (
            f"the rate of {selector.metric}, a gauge, is written as deriv(), a linear regression: "
            "rate() of Prometheus is for counters"
        )


def _metric(condition: Any) -> MetricCondition:
    if isinstance(condition, EventCondition):
        raise NotExpressible(f"it has a condition on an event ({condition.event})")
    if isinstance(condition, RunCondition):
        raise NotExpressible(f"it compares runs with earlier ones ({condition.measure.label})")
    assert isinstance(condition, MetricCondition)
    return condition


def _comparison(condition: MetricCondition) -> str:
    if condition.comparison is Comparison.ABSENT:
        if condition.by is not By.CLUSTER:
            raise NotExpressible(f"it fires for {condition.by.label} whose data is missing")
        return f"absent({_function(condition.selector)})"
    side = _aggregated(condition, condition.selector)
    if condition.other is Attribute.NTHREADS:
        if condition.by is By.SERIES or condition.aggregate is not Aggregate.SUM:
            raise NotExpressible(
                "it combines a worker's threads with a value that isn't a sum for each worker or the cluster"
            )
        side += f" {condition.operation} {_aggregated(condition, Selector(THREADS))}"
    elif isinstance(condition.other, Attribute):
        raise NotExpressible("it uses a worker's memory limit, which Dask doesn't report to Prometheus")
    elif condition.other is not None:
        if condition.by is not By.CLUSTER and not _is_of_workers(condition.other.metric):
            raise NotExpressible("it combines a value of each worker with one of the cluster")
        side += f" {condition.operation} {_aggregated(condition, condition.other)}"
    return f"{side} {condition.comparison.value} {condition.threshold!r}"


def _joined(first: MetricCondition, condition: MetricCondition) -> str:
    if condition.by is first.by:
        return ""
    return "on () " if condition.by is By.CLUSTER else f"on ({WORKER}) "


def _aggregated(condition: MetricCondition, selector: Selector) -> str:
    text = _function(selector)
    if condition.by is By.SERIES:
        return text
    by = f" by ({WORKER})" if condition.by is By.WORKER else ""
    parameter = f"{condition.quantile!r}, " if condition.aggregate is Aggregate.QUANTILE else ""
    return f"{AGGREGATES[condition.aggregate]}{by} ({parameter}{text})"


def _function(selector: Selector) -> str:
    series = _series(selector)
    if selector.function is Function.VALUE:
        return series
    counter = is_counter(selector.metric)
    if selector.function is Function.RATE:
        function = "rate" if counter else "deriv"
    else:
        function = "increase" if counter else "delta"
    return f"{function}({series}[{_duration(selector.window)}])"


def _series(selector: Selector) -> str:
    matchers = list(map(_matcher, selector.matchers))
    if not PLAIN.fullmatch(selector.metric):
        return f"{{{', '.join([_quoted(selector.metric), *matchers])}}}"
    return f"{selector.metric}{{{', '.join(matchers)}}}" if matchers else selector.metric


def _matcher(matcher: Matcher) -> str:
    return f"{matcher.label}{matcher.operator}{_quoted(matcher.value)}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _is_of_workers(metric: str) -> bool:
    """True if the metric is known to belong to workers, or is unknown."""
    known = METRICS.get(metric)
    return known is None or known.of_workers


def _duration(seconds: float) -> str:
    milliseconds = round(seconds * 1000)
    return f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"


def _comment(text: str) -> str:
    """Makes the text a single line."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
