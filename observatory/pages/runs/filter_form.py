"""The form above the list of runs: its query string is the filter."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from observatory.pages.clusters.frame import moment
from observatory.pages.site.filter_form import FilterForm
from observatory.pages.templatetags.records import field_time
from observatory.runs.listing import ORDERS, RunFilter
from observatory.runs.models import LONGEST_TAG, Run
from observatory.runs.tags import parse_tag

UNITS = {
    1e-3: ("ms",),
    1: ("", "s", "sec", "second", "seconds"),
    60: ("m", "min", "minute", "minutes"),
    3600: ("h", "hour", "hours"),
    86_400: ("d", "day", "days"),
}
SECONDS = {name: size for size, names in UNITS.items() for name in names}
AMOUNT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([a-z]*)\s*", re.IGNORECASE)


class LengthField(forms.CharField):
    """A duration as people write it: “5 min”, “1 h 30 min”, “90”; in seconds."""

    widget = forms.TextInput(attrs={"placeholder": "5 min", "size": 6})

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return seconds_in(text) if text else None


class TagField(forms.CharField):
    """One tag: its name and text, or its name alone."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return parse_tag(text) if text else None


class MomentField(forms.CharField):
    """A time as a datetime-local field writes it, or in seconds since the epoch."""

    widget = forms.TextInput(attrs={"type": "datetime-local", "step": "1"})

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        time = moment(text) if text else None
        if text and time is None:
            raise ValidationError("Write a date and a time between 2000 and 2100: 2026-05-04 12:00")
        return time

    def prepare_value(self, value: Any) -> Any:
        time = moment(value) if isinstance(value, str) else None
        return field_time(time) if isinstance(time, datetime) else value


class RunFilterForm(FilterForm):
    rule_field = "alert"
    detail_names = ("alert", "outcome", "origin", "user", "shortest", "longest", "since", "until")

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
    user = forms.CharField(label="Run by", max_length=100)
    shortest = LengthField(label="Lasted at least", max_length=50)
    longest = LengthField(label="at most", max_length=50)
    since = MomentField(label="Started from (UTC)", max_length=50)
    until = MomentField(label="until (UTC)", max_length=50)
    order = forms.ChoiceField(choices=[(order, order) for order in ORDERS], initial="-start")

    @property
    def usual(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in (*self.detail_names, "order")]

    def wanted(self, cluster: int | None = None) -> RunFilter:
        """The runs that were asked for, of one cluster or of all."""
        return RunFilter(cluster=cluster, **self.asked())


def seconds_in(text: str) -> float:
    """Of a duration as people write it. Raises ValidationError."""
    total, place = 0.0, 0
    while place < len(text):
        found = AMOUNT.match(text, place)
        size = SECONDS.get(found[2].lower()) if found else None
        if found is None or size is None:
            raise ValidationError(f"“{text}” is no duration: write 90 s, 5 min, 1.5 h or 2 d.")
        total, place = total + float(found[1]) * size, found.end()
    if total > 1e9:
        raise ValidationError("That is longer than thirty years.")
    return total
