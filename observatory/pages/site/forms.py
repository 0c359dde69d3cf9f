"""Base form and fields of the filters above lists."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from observatory.alerts.web.access import visible_rules
from observatory.clusters.access import Person, visible_projects
from observatory.pages.site.formatting import input_time
from observatory.pages.site.query import parse_time


class TimeField(forms.CharField):
    """A time as a datetime-local input writes it, or in seconds since the epoch; cleaned to a datetime."""

    widget = forms.TextInput(attrs={"type": "datetime-local", "step": "1"})

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        time = parse_time(text) if text else None
        if text and time is None:
            raise ValidationError("Enter a date and time between 2000 and 2100, such as 2026-05-04 12:00.")
        return time

    def prepare_value(self, value: Any) -> Any:
        time = parse_time(value) if isinstance(value, str) else None
        return input_time(time) if isinstance(time, datetime) else value


class FilterForm(forms.Form):
    """A filter in a query string. An invalid field shows its error and doesn't filter; the others do."""

    rule_field: ClassVar[str]
    """the field that chooses an alert rule by name; `project` chooses a project by slug"""
    detail_names: ClassVar[tuple[str, ...]]
    """fields that are folded in until one of them is used"""

    def __init__(self, user: Person, data: Any) -> None:
        super().__init__(data)
        projects = [(project.slug, project.name) for project in visible_projects(user)]
        rules = [(name, name) for name in visible_rules(user).values_list("name", flat=True)]
        self.fields["project"].choices = [("", "All"), *projects]  # type: ignore[attr-defined]
        self.fields[self.rule_field].choices = [("", "Any"), *rules]  # type: ignore[attr-defined]
        for field in self.fields.values():
            field.required = False

    @property
    def details(self) -> list[forms.BoundField]:
        return [self[name] for name in self.detail_names]

    @property
    def is_detailed(self) -> bool:
        return any(self.data.get(name) for name in self.detail_names)

    def values(self) -> dict[str, Any]:
        """The valid fields that aren't empty."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}
