"""The filter form of the audit log. Its fields are the query parameters."""

from __future__ import annotations

from typing import Any

from django import forms

from observatory.clusters.access import projects_to_manage
from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.audit.reading import EntryFilter
from observatory.clusters.models import Project
from observatory.pages.site.forms import TimeField
from observatory.store.audit.subjects import noted_kinds

SEARCH = forms.TextInput(attrs={"type": "search"})


class EntryFilterForm(forms.Form):
    """An invalid field shows its error and doesn't filter; the others do."""

    text = forms.CharField(max_length=200, widget=SEARCH)
    person = forms.CharField(label="Who", max_length=150, widget=SEARCH)
    action = forms.ChoiceField(label="Did", choices=[("", "Anything"), *AuditEntry.Action.choices])
    kind = forms.ChoiceField(label="To")
    project = forms.ChoiceField()
    since = TimeField(label="From (UTC)", max_length=50)
    until = TimeField(label="to (UTC)", max_length=50)

    def __init__(self, user: Any, data: Any) -> None:
        super().__init__(data)
        projects = Project.objects.all() if user.is_superuser else projects_to_manage(user)
        named = [(project.slug, project.name) for project in projects]
        self.fields["project"].choices = [("", "All"), *named]  # type: ignore[attr-defined]
        kinds = [(kind, kind) for kind in noted_kinds()]
        self.fields["kind"].choices = [("", "Anything"), *kinds]  # type: ignore[attr-defined]
        for field in self.fields.values():
            field.required = False

    def entry_filter(self) -> EntryFilter:
        self.is_valid()
        return EntryFilter(**{name: value for name, value in self.cleaned_data.items() if value})
