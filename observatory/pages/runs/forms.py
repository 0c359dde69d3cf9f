"""Forms of the pages of runs: the filter of the list, saved filters, and new links."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import capfirst
from django.utils.timezone import now

from observatory.pages.site.forms import FilterForm, TimeField
from observatory.runs.listing import ORDERS, UNKNOWN, RunFilter
from observatory.runs.models import LONGEST_TAG, Permalink, Run, RunFindings, SavedFilter
from observatory.runs.tags import parse_tag
from observatory.why.findings.kinds import finding_kinds

UNITS = {
    1e-3: ("ms",),
    1: ("", "s", "sec", "second", "seconds"),
    60: ("m", "min", "minute", "minutes"),
    3600: ("h", "hour", "hours"),
    86_400: ("d", "day", "days"),
}
SECONDS = {name: size for size, names in UNITS.items() for name in names}
AMOUNT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([a-z]*)\s*", re.IGNORECASE)
EXPIRIES = {"": "never", "1": "in 1 day", "7": "in 1 week", "30": "in 30 days", "365": "in 1 year"}
"""by days"""
LONGEST_PLACE = 4000
SHOWN = ("shows_logs", "shows_code", "shows_tracebacks")


class DurationField(forms.CharField):
    """A duration such as “5 min”, “1 h 30 min” or “90”, cleaned to seconds."""

    widget = forms.TextInput(attrs={"placeholder": "5 min", "size": 6})

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return parse_duration(text) if text else None


class TagField(forms.CharField):
    """One tag, `name=value` or `name`, cleaned to (name, value)."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return parse_tag(text) if text else None


def finding_choices() -> list[tuple[str, str]]:
    """Kinds of main findings, and why a run has none."""
    states = RunFindings.State
    return [
        ("", "Any"),
        *((name, capfirst(kind.title)) for name, kind in finding_kinds().items()),
        *(
            (str(state), capfirst(str(state.label)))
            for state in (states.NONE, states.MARKED, states.TOO_LARGE)
        ),
        (UNKNOWN, "Not looked at yet"),
    ]


class RunFilterForm(FilterForm):
    rule_field = "alert"
    detail_names = ("alert", "finding", "outcome", "origin", "user", "shortest", "longest", "since", "until")

    name = forms.CharField(max_length=200, widget=forms.TextInput(attrs={"type": "search"}))
    tag = TagField(
        max_length=2 * LONGEST_TAG + 1,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "git=3f2a1c or git"}),
    )
    project = forms.ChoiceField()
    with_errors = forms.BooleanField(label="With errors")
    pinned = forms.BooleanField()
    outcome = forms.ChoiceField(choices=[("", "Any"), *Run.Outcome.choices])
    origin = forms.ChoiceField(choices=[("", "Any"), *Run.Origin.choices])
    alert = forms.ChoiceField()
    finding = forms.ChoiceField(label="Main finding", choices=finding_choices)
    user = forms.CharField(label="User", max_length=100)
    shortest = DurationField(label="Minimum duration", max_length=50)
    longest = DurationField(label="Maximum duration", max_length=50)
    since = TimeField(label="Started after (UTC)", max_length=50)
    until = TimeField(label="Started before (UTC)", max_length=50)
    order = forms.ChoiceField(choices=[(order, order) for order in ORDERS], initial="-start")

    @property
    def usual(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in (*self.detail_names, "order")]

    def run_filter(self, cluster: int | None = None) -> RunFilter:
        """The filter, limited to one cluster where it is given."""
        return RunFilter(cluster=cluster, **self.values())


class SavedFilterForm(forms.Form):
    name = forms.CharField(max_length=SavedFilter._meta.get_field("name").max_length)
    query = forms.CharField(max_length=SavedFilter._meta.get_field("query").max_length, required=False)


class LinkForm(forms.Form):
    audience = forms.ChoiceField(
        choices=Permalink.Audience.choices,
        initial=Permalink.Audience.MEMBERS,
        widget=forms.RadioSelect,
        label="Who can open it",
    )
    expires = forms.ChoiceField(choices=list(EXPIRIES.items()), required=False, label="Expires")
    shows_logs = forms.BooleanField(required=False, label="Log lines")
    shows_code = forms.BooleanField(required=False, label="Code and profiles")
    shows_tracebacks = forms.BooleanField(required=False, label="Error messages and tracebacks")
    hides_addresses = forms.BooleanField(
        required=False,
        initial=True,
        label="Addresses, hosts and process ids; workers are numbered",
    )
    place = forms.CharField(required=False, max_length=LONGEST_PLACE, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("audience") == Permalink.Audience.MEMBERS:
            # members see everything in their projects
            cleaned |= dict.fromkeys(SHOWN, True) | {"hides_addresses": False}
        return cleaned

    def new_link(self, run: Run) -> Permalink:
        """The link, not saved yet."""
        values = self.cleaned_data
        days = values["expires"]
        return Permalink(
            run=run,
            audience=values["audience"],
            place=values["place"],
            expires=now() + timedelta(days=int(days)) if days else None,
            **{name: values[name] for name in (*SHOWN, "hides_addresses")},
        )


def parse_duration(text: str) -> float:
    """Seconds of a duration such as “1 h 30 min”. Raises ValidationError."""
    total, place = 0.0, 0
    while place < len(text):
        match = AMOUNT.match(text, place)
        size = SECONDS.get(match[2].lower()) if match else None
        if match is None or size is None:
            raise ValidationError(f"“{text}” is not a duration. Examples: 90 s, 5 min, 1.5 h, 2 d.")
        total, place = total + float(match[1]) * size, match.end()
    if total > 1e9:
        raise ValidationError("The duration must be at most 30 years.")
    return total
