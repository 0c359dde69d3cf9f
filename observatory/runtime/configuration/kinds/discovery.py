"""Discoveries of projects."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from django import forms
from django.db.models import QuerySet

from observatory.clusters.access import projects_to_manage
from observatory.clusters.models import Discovery
from observatory.collect.discovery.form import discovery_form
from observatory.runtime.configuration.credentials import OfServers
from observatory.runtime.configuration.fields import Field, Shape
from observatory.runtime.configuration.kind import ACTOR, Item, in_project


class DiscoveryKind(OfServers):
    name, section, model = "discovery", "discoveries", Discovery
    fields = (
        Field("name"),
        Field("kind", is_always_written=True),
        Field("address"),
        Field("namespace"),
        Field("enabled", Shape.FLAG),
        Field("interval"),
        Field("workers"),
        Field("shares_credentials", Shape.FLAG),
        Field("identity_interval"),
        Field("metrics_interval"),
    )

    def key_of(self, row: Discovery) -> str:
        return f"{row.project.slug}/{row.name}"

    def identity(self, item: Item) -> Hashable:
        return in_project(item, item.key.removeprefix(f"{item.project}/"))

    def identities_of(self, row: Discovery) -> list[Hashable]:
        return [(row.project_id, row.name)]

    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        return discovery_form(ACTOR, data, item.existing)

    def rows(self) -> QuerySet[Discovery]:
        found = Discovery.objects.filter(project__in=projects_to_manage(ACTOR))
        return found.select_related("project").order_by("project__slug", "name")
