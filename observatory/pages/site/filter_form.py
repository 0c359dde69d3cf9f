"""What the forms above lists share: their query string is the filter."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from observatory.alerts.web.access import visible_rules
from observatory.clusters.access import Person, visible_projects


class FilterForm(forms.Form):
    """What is wrong is told at its field and asks for all; the other fields still filter."""

    rule_field: ClassVar[str]
    """the field that chooses a rule by its name; `project` chooses one by its slug"""
    detail_names: ClassVar[tuple[str, ...]]
    """fields that stand behind “More”, until one of them is used"""

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

    def asked(self) -> dict[str, Any]:
        """The fields that ask for something."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}
