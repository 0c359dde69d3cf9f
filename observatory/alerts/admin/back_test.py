"""Runs back-tests of a rule on several clusters, for the chart and table of its page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from observatory.alerts.evaluation.back_test import BackTest, Report, back_test, firings_of_variants
from observatory.alerts.evaluation.flapping import (
    Lasted,
    best,
    clear_candidates,
    clearing_at,
    durations,
    is_flapping,
    lasted,
)
from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.outcomes import Outcome, Subject
from observatory.alerts.evaluation.window.runs import JudgedRun, judged_runs
from observatory.alerts.evaluation.window.state_machine import Firing
from observatory.alerts.models import Condition, Rule
from observatory.alerts.rules.amounts import format_amount
from observatory.alerts.rules.condition_rows import spec_of
from observatory.alerts.rules.conditions import AnyCondition, EventCondition, Measure, RuleSpec, RunCondition
from observatory.alerts.rules.units import unit_of
from observatory.alerts.web.links import timeline_path
from observatory.clusters.models import Cluster
from observatory.store.connection import read_connection

MAX_LINES = 40
MAX_FIRINGS = 200
MAX_MARKS = 500


@dataclass
class ClusterBackTests:
    """The results on several clusters."""

    spec: RuleSpec
    start: float
    stop: float
    lines: list[tuple[bool, dict[str, Any]]] = field(default_factory=list)
    """(fired, line)"""
    omitted: int = 0
    """lines beyond the limit of a cluster"""
    firings: list[dict[str, Any]] = field(default_factory=list)
    durations: list[float] = field(default_factory=list)
    """seconds of each firing of all lines"""
    too_short: list[float] = field(default_factory=list)
    """seconds of each stretch of all lines in which the rule was true for less than its hold time"""
    is_flapping: bool = False
    runs: list[JudgedRun] = field(default_factory=list)
    """those that the first condition is on"""
    windows: list[tuple[float, float]] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)

    def add(self, cluster: Cluster, report: Report) -> None:
        """Raises BackTestError."""
        found = back_test(cluster, self.spec, self.start, self.stop, report)
        self.clusters.append(cluster.name)
        self._add_runs(cluster, found)
        self.windows.append((found.start, found.stop))
        self.omitted += found.omitted
        self.durations += found.durations
        self.too_short += found.too_short
        self.is_flapping |= any(is_flapping(result.firings, found.stop) for result in found.results)
        for result in found.results:
            outcome, subject = result.outcome, _subject_text(result.outcome.subject)
            self.firings += [self._firing(cluster, subject, firing) for firing in result.firings]
            if np.isfinite(outcome.values).any() or any(outcome.texts):
                line = {"cluster": cluster.name, "subject": subject, **_points(outcome)}
                self.lines.append((bool(result.firings), line))

    def _add_runs(self, cluster: Cluster, found: BackTest) -> None:
        first = self.spec.conditions[0]
        if isinstance(first, RunCondition) and found.start < found.stop:
            with read_connection() as connection:
                data = WindowData(connection, cluster, found.start, found.stop)
                self.runs += judged_runs(data, first)

    def run_counts(self) -> dict[str, int] | None:
        """How many runs ended, and how many of them have too few earlier ones. None for other conditions."""
        first = self.spec.conditions[0]
        if not isinstance(first, RunCondition):
            return None
        unjudged = sum(math.isnan(run.value) for run in self.runs)
        return {"ended": len(self.runs), "unjudged": unjudged, "fewest": first.fewest}

    def answer(self) -> dict[str, Any]:
        """Lines that fired come first, then those closest to the threshold. The window is that of the
        clusters."""
        lines = [line for _, line in sorted(self.lines, key=lambda each: each[0], reverse=True)]
        firings = sorted(self.firings, key=lambda firing: firing["fired"])
        return {
            "start": min((start for start, _ in self.windows), default=self.start),
            "stop": max((stop for _, stop in self.windows), default=self.stop),
            "clusters": self.clusters,
            "lines": lines[:MAX_LINES],
            "more_lines": self.omitted + max(0, len(lines) - MAX_LINES),
            "firings": firings[:MAX_FIRINGS],
            "more_firings": len(self.durations) - len(firings[:MAX_FIRINGS]),
            "lasted": _dict_of(lasted(self.durations)),
            "too_short": {"count": len(self.too_short), "longest": max(self.too_short, default=0.0)},
            "hold": self.spec.hold,
            "runs": self.run_counts(),
        }

    def clear_offer(self, clusters: Sequence[Cluster], unit: str) -> dict[str, Any] | None:
        """A threshold to clear at that would have joined firings, with what would have fired then."""
        candidates = clear_candidates(self.spec) if self.is_flapping else []
        if not candidates:
            return None
        specs = [clearing_at(self.spec, candidate) for candidate in candidates]
        seconds: list[list[float]] = [[] for _ in specs]
        for cluster, (start, stop) in zip(clusters, self.windows, strict=True):
            firings = firings_of_variants(cluster, specs, start, stop) if start < stop else []
            for number, found in enumerate(firings):
                seconds[number] += durations(found, stop)
        place = best([len(own) for own in seconds], len(self.durations))
        if place is None:
            return None
        text = format_amount(candidates[place], unit)
        return {"text": text, "lasted": _dict_of(lasted(seconds[place]))}

    def _firing(self, cluster: Cluster, subject: str, firing: Firing) -> dict[str, Any]:
        return {
            "cluster": cluster.name,
            "url": timeline_path(cluster.pk, firing.pending, firing.fired),
            "subject": subject,
            "pending": firing.pending,
            "fired": firing.fired,
            "resolved": firing.resolved,
            "value": _number(firing.value),
            "text": firing.text,
        }


def back_test_clusters(
    clusters: Sequence[Cluster],
    rule: Rule,
    conditions: Sequence[Condition],
    start: float,
    stop: float,
    report: Report = lambda share: None,
) -> dict[str, Any]:
    """Back-tests a rule, saved or not, on the clusters over [start, stop), in seconds.

    `report` gets the share that is done. Raises BackTestError.
    """
    tests = ClusterBackTests(spec_of(rule, conditions), start, stop)
    for place, cluster in enumerate(clusters):
        tests.add(cluster, partial(_report_share, report, place, len(clusters)))
    first, unit = conditions[0], unit_of(tests.spec.conditions[0])
    return tests.answer() | {
        "is_event": _is_counted(tests.spec.conditions[0]),
        "unit": unit,
        "clear_offer": tests.clear_offer(clusters, unit),
        "threshold": first.threshold,
        "clear_threshold": first.clear_threshold,
    }


def _report_share(report: Report, place: int, of: int, share: float) -> None:
    report((place + share) / of)


def _is_counted(condition: AnyCondition) -> bool:
    """True if there is no threshold to draw."""
    if isinstance(condition, RunCondition):
        return condition.measure is Measure.NEW_ERRORS
    return isinstance(condition, EventCondition)


def _dict_of(times: Lasted | None) -> dict[str, Any] | None:
    return None if times is None else asdict(times)


def _subject_text(subject: Subject) -> str:
    """The worker's name and the other labels, as text."""
    worker = subject.labels.get("worker", "")
    others = [f"{name}={value}" for name, value in sorted(subject.labels.items()) if name != "worker"]
    return " ".join(part for part in (worker, ", ".join(others)) if part)


def _points(outcome: Outcome) -> dict[str, Any]:
    marks = [
        (float(time), text) for time, text in zip(outcome.times.tolist(), outcome.texts, strict=True) if text
    ]
    return {
        "times": outcome.times.tolist(),
        "values": [_number(value) for value in outcome.values.tolist()],
        "marks": marks[:MAX_MARKS],
    }


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
