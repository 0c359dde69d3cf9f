"""Targets of projects. Those that a discovery finds are its own."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from observatory.clusters.access import projects_to_manage
from observatory.clusters.addresses.http_addresses import clean_target_url
from observatory.clusters.models import Target
from observatory.collect.forms import target_form
from observatory.runtime.configuration.credentials import OfServers
from observatory.runtime.configuration.fields import Field, Shape
from observatory.runtime.configuration.kind import ACTOR, Item, in_project
from observatory.runtime.configuration.nodes import Scalar
from observatory.runtime.configuration.scopes import target_name


class TargetKind(OfServers):
    name, section, model = "target", "targets", Target
    fields = (
        Field("name"),
        Field("url", is_always_written=True),
        Field("enabled", Shape.FLAG),
        Field("workers"),
        Field("identity_interval"),
        Field("metrics_interval"),
        Field("series_limit"),
    )

    def key_of(self, row: Target) -> str:
        return target_name(row)

    def surest(self, item: Item) -> Hashable:
        """Its address, where its clusters are recorded: a target that is renamed keeps them."""
        return in_project(item, "at", _url(item))

    def identity(self, item: Item) -> Hashable:
        return in_project(item, "named", _name(item))

    def identities_of(self, row: Target) -> list[Hashable]:
        return [(row.project_id, "at", row.url), (row.project_id, "named", row.name)]

    def unique_name(self, item: Item) -> Hashable:
        return in_project(item, _name(item))

    def unique_name_of(self, row: Target) -> Hashable:
        return (row.project_id, row.name)

    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        """Without a request: a scheduler that is down now does not keep all other changes out."""
        form = target_form(ACTOR, data, item.existing)
        form.probes = False
        return form

    def rows(self) -> QuerySet[Target]:
        found = Target.objects.filter(project__in=projects_to_manage(ACTOR), discovery=None)
        return found.select_related("project").order_by("project__slug", "name")


def _name(item: Item) -> str:
    return item.key.removeprefix(f"{item.project}/")


def _url(item: Item) -> str:
    node = item.node.entries.get("url")
    try:
        return clean_target_url(node.text or "") if isinstance(node, Scalar) else ""
    except ValidationError:
        return ""
