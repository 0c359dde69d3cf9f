"""Maintenance windows."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from django import forms
from django.db.models import QuerySet

from observatory.alerts.admin.silence_forms import MaintenanceForm
from observatory.alerts.models import MaintenanceWindow
from observatory.runtime.configuration.fields import Field, Value
from observatory.runtime.configuration.kind import Context, Item, Kind
from observatory.runtime.configuration.scopes import names, projects_data, targets_data

SCOPES = ("projects", "targets")


class MaintenanceWindowKind(Kind):
    name, section, model = "maintenance window", "maintenance_windows", MaintenanceWindow
    fields = (
        Field("name"),
        Field("starts", is_always_written=True),
        Field("stops", is_always_written=True),
        Field("repeat"),
    )
    further_keys = SCOPES

    def key_of(self, row: MaintenanceWindow) -> str:
        return row.name

    def identity(self, item: Item) -> Hashable:
        return item.key

    def identities_of(self, row: MaintenanceWindow) -> list[Hashable]:
        return [row.name]

    def data(self, item: Item, context: Context) -> dict[str, Any]:
        lists = {"projects": projects_data(item, context), "targets": targets_data(item, context)}
        return {**super().data(item, context), **lists}

    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        return MaintenanceForm(data, instance=item.existing)

    def values(self, row: MaintenanceWindow) -> dict[str, Value]:
        return {**super().values(row), **{key: names(key, getattr(row, key).all()) for key in SCOPES}}

    def values_of_form(self, form: Any, item: Item) -> dict[str, Value]:
        chosen = {key: names(key, form.cleaned_data[key]) for key in SCOPES}
        return {**super().values(form.instance), **chosen}

    def rows(self) -> QuerySet[MaintenanceWindow]:
        return MaintenanceWindow.objects.prefetch_related("projects", "targets__project").order_by(
            "name", "pk"
        )
