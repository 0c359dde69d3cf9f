"""The form that makes a link to a run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.utils.timezone import now

from observatory.runs.models import Permalink, Run

EXPIRIES = {"": "never", "1": "in a day", "7": "in a week", "30": "in 30 days", "365": "in a year"}
"""by days"""
LONGEST_PLACE = 4000


class LinkForm(forms.Form):
    audience = forms.ChoiceField(
        choices=Permalink.Audience.choices,
        initial=Permalink.Audience.MEMBERS,
        widget=forms.RadioSelect,
        label="Who may open it",
    )
    expires = forms.ChoiceField(choices=list(EXPIRIES.items()), required=False, label="Expires")
    shows_logs = forms.BooleanField(required=False, label="Log lines")
    shows_code = forms.BooleanField(required=False, label="Code and profiles")
    shows_tracebacks = forms.BooleanField(required=False, label="Errors’ messages and tracebacks")
    place = forms.CharField(required=False, max_length=LONGEST_PLACE, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("audience") == Permalink.Audience.MEMBERS:
            # members see everything of their projects
            cleaned |= {"shows_logs": True, "shows_code": True, "shows_tracebacks": True}
        return cleaned

    def link_to(self, run: Run) -> Permalink:
        """The link that was asked for, not saved."""
        wanted = self.cleaned_data
        days = wanted["expires"]
        return Permalink(
            run=run,
            audience=wanted["audience"],
            place=wanted["place"],
            expires=now() + timedelta(days=int(days)) if days else None,
            **{name: wanted[name] for name in ("shows_logs", "shows_code", "shows_tracebacks")},
        )
