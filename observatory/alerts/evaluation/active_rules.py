"""The rules that are asked in a round, and what went wrong with them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.utils.timezone import now

from observatory.alerts.models import Rule
from observatory.alerts.rules.conditions import Attribute, MetricCondition, RuleSpec
from observatory.alerts.rules.scope import Scope
from observatory.alerts.rules.specs import spec_of
from observatory.wire.records import clean_text

log = logging.getLogger(__name__)

LONGEST_ERROR = 500
REPEATED = timedelta(seconds=10)
"""after which it is told again that a rule fails still"""
CLEARED = timedelta(seconds=60)
"""without a failure on any cluster, after which a rule works again"""


@dataclass(frozen=True, slots=True)
class Asked:
    rule: Rule
    spec: RuleSpec
    scope: Scope
    since: float
    """seconds on our clock: it isn't asked of the time before"""
    lookback: float
    """seconds that the past matters for"""


class Errors:
    """What went wrong with rules in a round; told in their rows."""

    def __init__(self) -> None:
        self._errors: dict[int, str] = {}

    def failed(self, rule: Rule, error: Exception, where: str = "") -> None:
        text = " ".join(str(error).split()) or type(error).__name__
        text = clean_text(f"{where}: {text}" if where else text, LONGEST_ERROR)
        if not rule.error and rule.pk not in self._errors:
            log.warning("the rule “%s” fails: %s", rule, text, exc_info=error)
        self._errors[rule.pk] = text

    @property
    def rules(self) -> set[int]:
        """Those that failed."""
        return set(self._errors)

    def save(self) -> None:
        """Writes what changed: an error is cleared once nobody has met it for a while."""
        moment = now()
        for rule, error in self._errors.items():
            known = Q(error=error, error_time__gt=moment - REPEATED)
            Rule.objects.filter(~known, pk=rule).update(error=error, error_time=moment)
        working = Rule.objects.filter(enabled=True, error_time__lt=moment - CLEARED)
        working.exclude(pk__in=self._errors).update(error="", error_time=None)


def asked_rules(errors: Errors) -> list[Asked]:
    """The enabled rules that can be asked."""
    rules = Rule.objects.filter(enabled=True).prefetch_related("conditions", "projects", "targets")
    asked = []
    for rule in rules.order_by("pk"):
        try:
            spec = spec_of(rule, list(rule.conditions.all()))
        except Exception as error:  # whatever was written past its form
            errors.failed(rule, error)
        else:
            asked.append(Asked(rule, spec, Scope.of(rule), rule.changed.timestamp(), lookback(spec)))
    return asked


def lookback(spec: RuleSpec) -> float:
    """Seconds before a moment that matter for what a rule says of it."""
    windows = [0.0]
    for condition in spec.conditions:
        if not isinstance(condition, MetricCondition):
            windows.append(condition.window)
            continue
        windows.append(condition.selector.window)
        if condition.divisor is not None and not isinstance(condition.divisor, Attribute):
            windows.append(condition.divisor.window)
    return spec.hold + max(windows)
