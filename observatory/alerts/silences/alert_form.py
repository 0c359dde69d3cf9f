"""The form that silences an alert from its page."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.timezone import now

from observatory.alerts.models import Alert, Silence
from observatory.alerts.silences.matchers import Matcher, MatcherError, parse_matchers
from observatory.alerts.silences.suppression import silence_labels

HOURS = {"1h": 1, "4h": 4, "1d": 24}
UNTIL = "until"
LASTS = [("1h", "1 hour"), ("4h", "4 hours"), ("1d", "1 day"), (UNTIL, "until …")]
MAX_DURATION = timedelta(days=366)
MAX_MATCHERS = 1000


class SilenceAlertForm(forms.Form):
    """`of`: this alert only, its rule on this cluster, or its rule in the whole project."""

    lasts = forms.ChoiceField(
        label="For",
        choices=LASTS,
        error_messages={"invalid_choice": "Choose 1h, 4h, 1d or until."},
    )
    until = forms.DateTimeField(
        label="Until (UTC)",
        required=False,
        widget=forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    of = forms.ChoiceField(
        label="Applies to",
        choices=[
            ("alert", "this alert"),
            ("cluster", "its rule on this cluster"),
            ("project", "its rule in this project"),
        ],
        required=False,
        error_messages={"invalid_choice": "Choose alert, cluster or project."},
    )
    comment = forms.CharField(max_length=1000)

    def __init__(self, alert: Alert, user: User, data: Any = None) -> None:
        super().__init__(data)
        self.alert = alert
        self.user = user

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("lasts") == UNTIL and "until" not in self.errors:
            self._check(cleaned["until"])
        try:
            is_too_long = len(self._matchers()) > MAX_MATCHERS
            parse_matchers(self._matchers())
        except MatcherError:
            is_too_long = True
        if is_too_long:
            self.add_error(
                "of", "The alert has too many or too long labels: choose its rule on this cluster."
            )
        return cleaned

    def save(self) -> Silence:
        start = now()
        lasts = self.cleaned_data["lasts"]
        silence = Silence.objects.create(
            matchers=self._matchers(),
            starts=start,
            expires=self.cleaned_data["until"] if lasts == UNTIL else start + timedelta(hours=HOURS[lasts]),
            comment=self.cleaned_data["comment"],
            created_by=self.user,
        )
        silence.projects.set([self.alert.cluster.project])
        return silence

    def _check(self, until: datetime | None) -> None:
        if until is None:
            self.add_error("until", "Enter a time.")
        elif not now() < until < now() + MAX_DURATION:
            self.add_error("until", ValidationError("A silence has to end in the future, within a year."))

    def _matchers(self) -> str:
        """The matchers of the silence, in addition to its project."""
        of = self.cleaned_data.get("of") or "alert"
        names = {"rule"} if of == "project" else {"rule", "cluster"}
        if of == "alert":
            names |= self.alert.labels.keys()
        labels = silence_labels(self.alert)
        return ", ".join(str(Matcher(name, "=", labels[name])) for name in sorted(names))
