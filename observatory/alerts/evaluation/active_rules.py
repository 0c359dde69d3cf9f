"""The rules that a round evaluates, and the errors that occur."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.utils.timezone import now

from observatory.alerts.models import Rule
from observatory.alerts.rules.condition_rows import spec_of
from observatory.alerts.rules.conditions import Attribute, MetricCondition, RuleSpec
from observatory.alerts.rules.scope import RuleScope
from observatory.wire.records import clean_text

log = logging.getLogger(__name__)

MAX_ERROR_LENGTH = 500
REPEATED = timedelta(seconds=10)
"""how often the time of a continuing error is updated"""
CLEARED = timedelta(seconds=60)
"""time without an error on any cluster after which a rule counts as working"""


@dataclass(frozen=True, slots=True)
class ActiveRule:
    rule: Rule
    spec: RuleSpec
    scope: RuleScope
    since: float
    """seconds on our clock; the rule isn't evaluated for earlier times"""
    lookback: float
    """seconds of past data that the rule needs"""


class RuleErrors:
    """Collects the errors of rules in a round and stores them in the rules' rows."""

    def __init__(self) -> None:
        self._errors: dict[int, str] = {}

    def add(self, rule: Rule, error: Exception, where: str = "") -> None:
        text = " ".join(str(error).split()) or type(error).__name__
        text = clean_text(f"{where}: {text}" if where else text, MAX_ERROR_LENGTH)
        if not rule.error and rule.pk not in self._errors:
            log.warning("the rule “%s” fails: %s", rule, text, exc_info=error)
        self._errors[rule.pk] = text

    @property
    def rules(self) -> set[int]:
        """The rules with errors."""
        return set(self._errors)

    def save(self) -> None:
        """Stores new errors and clears those that haven't occurred for a while."""
        time = now()
        for rule, error in self._errors.items():
            known = Q(error=error, error_time__gt=time - REPEATED)
            Rule.objects.filter(~known, pk=rule).update(error=error, error_time=time)
        working = Rule.objects.filter(enabled=True, error_time__lt=time - CLEARED)
        working.exclude(pk__in=self._errors).update(error="", error_time=None)


def load_active_rules(errors: RuleErrors) -> list[ActiveRule]:
    """The enabled rules. Rules that can't be read are added to `errors` and left out."""
    rules = Rule.objects.filter(enabled=True).prefetch_related("conditions", "projects", "targets")
    found = []
    for rule in rules.order_by("pk"):
        try:
            spec = spec_of(rule, list(rule.conditions.all()))
        except Exception as error:  # the row may have been changed without its form
            errors.add(rule, error)
        else:
            found.append(ActiveRule(rule, spec, RuleScope.of(rule), rule.changed.timestamp(), lookback(spec)))
    return found


def lookback(spec: RuleSpec) -> float:
    """Seconds before a time whose data affects the rule at that time."""
    windows = [0.0]
    for condition in spec.conditions:
        if not isinstance(condition, MetricCondition):
            windows.append(condition.window)
            continue
        windows.append(condition.selector.window)
        if condition.other is not None and not isinstance(condition.other, Attribute):
            windows.append(condition.other.window)
    return spec.hold + max(windows)
