"""Which alerts nobody is told of: silences and maintenance."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from observatory.alerts.labels import labels_of
from observatory.alerts.models import Alert, MaintenanceWindow, Silence
from observatory.alerts.rules.scope import Scope
from observatory.alerts.silences.maintenance import goes_on
from observatory.alerts.silences.matchers import MatcherError, match_all, parse_matchers


def is_quiet(alert: Alert, at: datetime) -> str:
    """Why nobody is told of it `at` a time of our clock; "" where people are. Of many alerts ask Quiet."""
    return Quiet(at).reason(alert)


class Quiet:
    """The silences and the maintenance of one time."""

    def __init__(self, at: datetime) -> None:
        silences = Silence.objects.filter(starts__lte=at, expires__gt=at).prefetch_related("projects")
        self._silences = [SilenceScope(silence) for silence in silences]
        windows = MaintenanceWindow.objects.filter(starts__lte=at).prefetch_related("projects", "targets")
        self._windows = [MaintenanceScope(window) for window in windows if goes_on(window, at)]

    def reason(self, alert: Alert) -> str:
        """As is_quiet tells it. Reads the alert's rule, cluster, project and target."""
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
    """What a silence is about, whenever it is. One whose matchers can't be read is about nothing."""

    def __init__(self, silence: Silence) -> None:
        self.name = str(silence)
        self._scope = Scope.over(silence.projects.all(), ())
        try:
            self._matchers = parse_matchers(silence.matchers)
        except MatcherError:
            self._matchers = ()

    def covers(self, alert: Alert, labels: Mapping[str, str]) -> bool:
        is_about = self._scope.holds(alert.cluster) and bool(self._matchers)
        return is_about and match_all(self._matchers, labels)


class MaintenanceScope:
    """What maintenance is about, whenever it is: of the projects those targets."""

    def __init__(self, window: MaintenanceWindow) -> None:
        self.name = window.name
        self._scope = Scope.over(window.projects.all(), window.targets.all())

    def covers(self, alert: Alert) -> bool:
        return self._scope.holds(alert.cluster)


def silence_labels(alert: Alert) -> dict[str, str]:
    """What the matchers of silences see: `rule` is another word for `alertname`."""
    return {**labels_of(alert), "rule": alert.rule.name}
