"""A rule tried on the past, as its page draws it. What it would have said is judging/'s to say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from observatory.alerts.admin.rule_form import value_unit
from observatory.alerts.evaluation.back_test import back_test
from observatory.alerts.evaluation.window.outcomes import Outcome, Subject
from observatory.alerts.evaluation.window.state_machine import Firing
from observatory.alerts.models import Condition, Rule
from observatory.alerts.rules.condition_rows import spec_of
from observatory.alerts.rules.conditions import RuleSpec
from observatory.alerts.web.links import timeline_path
from observatory.clusters.models import Cluster

MOST_LINES = 40
MOST_FIRINGS = 200
MOST_MARKS = 500


@dataclass
class Trial:
    """What was found on several clusters."""

    spec: RuleSpec
    start: float
    stop: float
    lines: list[tuple[bool, dict[str, Any]]] = field(default_factory=list)
    """with whether it fired"""
    left_out: int = 0
    """lines that there are beside them"""
    firings: list[dict[str, Any]] = field(default_factory=list)
    fired: int = 0
    """firings of all lines"""
    windows: list[tuple[float, float]] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)

    def add(self, cluster: Cluster) -> None:
        """Raises BackTestError."""
        found = back_test(cluster, self.spec, self.start, self.stop)
        self.clusters.append(cluster.name)
        self.windows.append((found.start, found.stop))
        self.left_out += found.omitted
        self.fired += found.firings
        for result in found.results:
            outcome, said = result.outcome, _said(result.outcome.subject)
            self.firings += [self._firing(cluster, said, firing) for firing in result.firings]
            if np.isfinite(outcome.values).any() or any(outcome.texts):
                line = {"cluster": cluster.name, "subject": said, **_points(outcome)}
                self.lines.append((bool(result.firings), line))

    def answer(self) -> dict[str, Any]:
        """What fired comes first, then what came nearest to it. The window is that of the clusters in it."""
        lines = [line for _, line in sorted(self.lines, key=lambda each: each[0], reverse=True)]
        firings = sorted(self.firings, key=lambda firing: firing["fired"])
        return {
            "start": min((start for start, _ in self.windows), default=self.start),
            "stop": max((stop for _, stop in self.windows), default=self.stop),
            "clusters": self.clusters,
            "lines": lines[:MOST_LINES],
            "more_lines": self.left_out + max(0, len(lines) - MOST_LINES),
            "firings": firings[:MOST_FIRINGS],
            "more_firings": self.fired - len(firings[:MOST_FIRINGS]),
        }

    def _firing(self, cluster: Cluster, said: str, firing: Firing) -> dict[str, Any]:
        return {
            "cluster": cluster.name,
            "url": timeline_path(cluster.pk, firing.pending, firing.fired),
            "subject": said,
            "pending": firing.pending,
            "fired": firing.fired,
            "resolved": firing.resolved,
            "value": _number(firing.value),
            "text": firing.text,
        }


def try_rule_on(
    clusters: Sequence[Cluster], rule: Rule, conditions: Sequence[Condition], start: float, stop: float
) -> dict[str, Any]:
    """What a rule, saved or not, would have said of the clusters in [start, stop), in seconds.

    Raises BackTestError where there is too much to look at.
    """
    trial = Trial(spec_of(rule, conditions), start, stop)
    for cluster in clusters:
        trial.add(cluster)
    first = conditions[0]
    is_event = first.kind == Condition.Kind.EVENT
    return trial.answer() | {
        "is_event": is_event,
        "unit": "" if is_event else value_unit(first),
        "threshold": first.threshold,
        "clear_threshold": first.clear_threshold,
    }


def _said(subject: Subject) -> str:
    """The worker's name, then the other labels."""
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
        "marks": marks[:MOST_MARKS],
    }


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
