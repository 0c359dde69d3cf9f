"""The history of the first condition of an alert's rule around the alert, for its chart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from django.utils.timezone import now

from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.evaluate import evaluate_rule
from observatory.alerts.evaluation.window.outcomes import Subject
from observatory.alerts.models import Alert
from observatory.alerts.rules.condition_rows import condition_of
from observatory.alerts.rules.conditions import AnyCondition, By, MetricCondition, RuleSpec
from observatory.alerts.rules.units import unit_of
from observatory.alerts.silences.matchers import Matcher
from observatory.store.connection import read_connection

MIN_AROUND, SHARE_AROUND = 60.0, 0.25
"""seconds on both sides, or if longer this share of the alert's duration"""
MAX_LENGTH = 3600.0
"""seconds; a longer alert is cut"""


@dataclass(frozen=True, slots=True)
class ConditionHistory:
    """A step function: `values[i]` (nan: no data) from `times[i]` on; times are seconds."""

    times: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    stop: float
    threshold: float
    unit: str
    """as `unit_of` returns it"""

    @property
    def start(self) -> float:
        return float(self.times[0])


def condition_history(alert: Alert) -> ConditionHistory | None:
    """None if there is nothing to draw: the first condition isn't on a metric, or the samples were deleted.

    Raises ValueError for a rule that can't be evaluated.
    """
    condition = _metric_condition(alert)
    if condition is None:
        return None
    subject = Subject(alert.worker_id, alert.labels)
    start, stop = _window(alert)
    with read_connection() as connection:
        data = WindowData(connection, alert.cluster, start, stop)
        found = evaluate_rule(data, RuleSpec((_narrowed(condition, alert),)), [subject])
    outcome = next((each for each in found if each.subject == subject), None)
    if outcome is None or np.isnan(outcome.values).all():
        return None
    return ConditionHistory(outcome.times, outcome.values, stop, condition.threshold, unit_of(condition))


def unit_of_alert(alert: Alert) -> str:
    """The unit of an alert's values. Raises ValueError for a rule that can't be evaluated."""
    condition = _metric_condition(alert)
    return "" if condition is None else unit_of(condition)


def _metric_condition(alert: Alert) -> MetricCondition | None:
    """The first condition of the alert's rule, if it is on a metric."""
    first = alert.rule.conditions.first()
    condition = condition_of(first) if first else None
    return condition if isinstance(condition, MetricCondition) else None


def _window(alert: Alert) -> tuple[float, float]:
    """The alert's time with some time around it; up to now for an open alert."""
    begin, end = alert.pending.timestamp(), (alert.resolved or now()).timestamp()
    around = max((end - begin) * SHARE_AROUND, MIN_AROUND)
    start = begin - min(around, MAX_LENGTH / 4)
    return start, min(end + around if alert.resolved else end, start + MAX_LENGTH)


def _narrowed(condition: MetricCondition, alert: Alert) -> AnyCondition:
    """Limits a condition for each worker to the alert's worker, so that only its samples are read."""
    worker = alert.labels.get("worker")
    if condition.by is not By.WORKER or worker is None:
        return condition
    selector = condition.selector
    return replace(
        condition, selector=replace(selector, matchers=(*selector.matchers, Matcher("worker", "=", worker)))
    )
