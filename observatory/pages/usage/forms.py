"""The form of the page of usage: days, and what they are added up by."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.timezone import now

from observatory.clusters.access import Person, visible_projects
from observatory.runs.models import LONGEST_TAG
from observatory.runs.usage.api import USUAL_DAYS
from observatory.runs.usage.report import BY, UsageFilter, checked, days_before

DATE = forms.DateInput(attrs={"type": "date"})


class UsageForm(forms.Form):
    """An invalid field shows its error, and its usual value counts."""

    since = forms.DateField(label="From", required=False, widget=DATE)
    until = forms.DateField(label="To (included)", required=False, widget=DATE)
    by = forms.ChoiceField(
        label="By",
        required=False,
        choices=[("project", "Project"), ("person", "Person"), ("tag", "Tag of runs")],
    )
    tag = forms.CharField(
        label="Name of the tag",
        required=False,
        max_length=LONGEST_TAG,
        widget=forms.TextInput(attrs={"placeholder": "team"}),
    )
    project = forms.ChoiceField(label="Project", required=False)

    def __init__(self, user: Person, data: Any) -> None:
        today = now().date()
        usual = {"since": days_before(today, USUAL_DAYS).isoformat(), "until": today.isoformat()}
        given = {name: value for name, value in data.items() if value}
        # a last day alone has the days before it
        super().__init__({**({} if "until" in given else usual), **given})
        projects = [(project.slug, project.name) for project in visible_projects(user)]
        self.fields["project"].choices = [("", "All"), *projects]  # type: ignore[attr-defined]

    def usage_filter(self) -> UsageFilter:
        """The filter of the valid fields."""
        self.is_valid()
        values = {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}
        until = values.get("until", now().date())
        first = values.get("since", days_before(until, USUAL_DAYS))
        by = values.get("by", BY[0])
        wanted = UsageFilter(first, until, by, values.get("tag", ""), values.get("project", ""))
        try:
            return checked(wanted)
        except ValidationError as error:
            for name, messages in error.message_dict.items():
                self.add_error(name, messages)
            usual = by if wanted.tag or by != "tag" else BY[0]
            last = max(wanted.first, wanted.last)
            return UsageFilter(days_before(last, USUAL_DAYS), last, usual, wanted.tag, wanted.project)
