"""What the first condition of an alert's rule came to around it, judged as the evaluator does it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from django.utils.timezone import now

from observatory.alerts.judging.judge import judge
from observatory.alerts.judging.readings import Readings
from observatory.alerts.judging.verdicts import Subject
from observatory.alerts.models import Alert
from observatory.alerts.rules.conditions import AnyCondition, By, MetricCondition, RuleSpec
from observatory.alerts.rules.specs import condition_of
from observatory.alerts.rules.units import unit_of
from observatory.alerts.silences.matchers import Matcher
from observatory.store.connection import read_connection

LEAST_AROUND, SHARE_AROUND = 60.0, 0.25
"""seconds on both sides, and the share of the alert's own length, where that is more"""
LONGEST = 3600.0
"""seconds: of a longer alert its beginning"""


@dataclass(frozen=True, slots=True)
class Course:
    """A step function: `values[i]` (nan: there is none) from `times[i]` on; times are seconds."""

    times: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    stop: float
    threshold: float
    unit: str
    """as unit_of tells it"""

    @property
    def start(self) -> float:
        return float(self.times[0])


def course_of(alert: Alert) -> Course | None:
    """None where there is nothing to draw: the rule isn't on a metric (any more), or its samples are gone.

    Raises ValueError for a rule that can't be judged.
    """
    condition = _measured(alert)
    if condition is None:
        return None
    subject = Subject(alert.worker_id, alert.labels)
    start, stop = _window(alert)
    with read_connection() as connection:
        readings = Readings(connection, alert.cluster, start, stop)
        found = judge(readings, RuleSpec((_narrowed(condition, alert),)), [subject])
    verdict = next((each for each in found if each.subject == subject), None)
    if verdict is None or np.isnan(verdict.values).all():
        return None
    return Course(verdict.times, verdict.values, stop, condition.threshold, unit_of(condition))


def unit_of_alert(alert: Alert) -> str:
    """Of its values. Raises ValueError for a rule that can't be judged."""
    condition = _measured(alert)
    return "" if condition is None else unit_of(condition)


def _measured(alert: Alert) -> MetricCondition | None:
    """The first condition of its rule, if that is on a metric."""
    first = alert.rule.conditions.first()
    condition = condition_of(first) if first else None
    return condition if isinstance(condition, MetricCondition) else None


def _window(alert: Alert) -> tuple[float, float]:
    """With some time around it; of what isn't over, until now."""
    begin, end = alert.pending.timestamp(), (alert.resolved or now()).timestamp()
    around = max((end - begin) * SHARE_AROUND, LEAST_AROUND)
    start = begin - min(around, LONGEST / 4)
    return start, min(end + around if alert.resolved else end, start + LONGEST)


def _narrowed(condition: MetricCondition, alert: Alert) -> AnyCondition:
    """Of one worker of many the samples are read of it alone."""
    worker = alert.labels.get("worker")
    if condition.by is not By.WORKER or worker is None:
        return condition
    selector = condition.selector
    return replace(
        condition, selector=replace(selector, matchers=(*selector.matchers, Matcher("worker", "=", worker)))
    )
