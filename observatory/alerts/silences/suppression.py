"""Decides which alerts are suppressed, by silences and maintenance windows: they send no notifications."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from observatory.alerts.labels import labels_of
from observatory.alerts.models import Alert, MaintenanceWindow, Silence
from observatory.alerts.rules.scope import RuleScope
from observatory.alerts.silences.maintenance import is_ongoing
from observatory.alerts.silences.matchers import MatcherError, match_all, parse_matchers


class Suppressions:
    """The silences and maintenance windows in effect at a time of our clock."""

    def __init__(self, at: datetime) -> None:
        silences = Silence.objects.filter(starts__lte=at, expires__gt=at).prefetch_related("projects")
        self._silences = [SilenceScope(silence) for silence in silences]
        windows = MaintenanceWindow.objects.filter(starts__lte=at).prefetch_related("projects", "targets")
        self._windows = [MaintenanceScope(window) for window in windows if is_ongoing(window, at)]

    def reason(self, alert: Alert) -> str:
        """What suppresses the alert; "" if nothing does. Reads its rule, cluster, project and target."""
        if not self._silences and not self._windows:
            return ""
        labels = silence_labels(alert)
        for silence in self._silences:
            if silence.covers(alert, labels):
                return f"silence “{silence.name}”"
        for window in self._windows:
            if window.covers(alert):
                return f"maintenance “{window.name}”"
        return ""


class SilenceScope:
    """The alerts that a silence matches, at any time. A silence with invalid matchers matches none."""

    def __init__(self, silence: Silence) -> None:
        self.name = str(silence)
        self._scope = RuleScope.over(silence.projects.all(), ())
        try:
            self._matchers = parse_matchers(silence.matchers)
        except MatcherError:
            self._matchers = ()

    def covers(self, alert: Alert, labels: Mapping[str, str]) -> bool:
        is_about = self._scope.includes(alert.cluster) and bool(self._matchers)
        return is_about and match_all(self._matchers, labels)


class MaintenanceScope:
    """The alerts of a maintenance window's projects and targets, at any time."""

    def __init__(self, window: MaintenanceWindow) -> None:
        self.name = window.name
        self._scope = RuleScope.over(window.projects.all(), window.targets.all())

    def covers(self, alert: Alert) -> bool:
        return self._scope.includes(alert.cluster)


def silence_labels(alert: Alert) -> dict[str, str]:
    """The labels that a silence's matchers see. `rule` is an alias of `alertname`."""
    return {**labels_of(alert), "rule": alert.rule.name}
