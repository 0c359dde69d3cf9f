"""The roles that groups of a proxy or single sign-on give in a project."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from django import forms
from django.db.models import QuerySet

from observatory.clusters.access import projects_to_manage
from observatory.clusters.accounts.models import GroupRole
from observatory.runtime.configuration.fields import Field
from observatory.runtime.configuration.kind import ACTOR, Context, Item, Kind, in_project, project_of

GroupRoleForm = forms.modelform_factory(GroupRole, fields=("group", "project", "role"))


class GroupRoleKind(Kind):
    """Written as group: role."""

    name, section, model = "group", "groups", GroupRole
    fields = (Field("role", is_always_written=True),)

    def key_of(self, row: GroupRole) -> str:
        return f"{row.project.slug}/{row.group}"

    def identity(self, item: Item) -> Hashable:
        return in_project(item, _group(item))

    def identities_of(self, row: GroupRole) -> list[Hashable]:
        return [(row.project_id, row.group)]

    def data(self, item: Item, context: Context) -> dict[str, Any]:
        project = project_of(item)
        return {**super().data(item, context), "group": _group(item), "project": project and project.pk}

    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        return GroupRoleForm(data, instance=item.existing)

    def rows(self) -> QuerySet[GroupRole]:
        found = GroupRole.objects.filter(project__in=projects_to_manage(ACTOR))
        return found.select_related("project").order_by("project__slug", "group")


def _group(item: Item) -> str:
    return item.key.removeprefix(f"{item.project}/")
