"""Channels of notifications. Their addresses are secrets."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet

from observatory.alerts.admin.channel_form import ChannelForm
from observatory.alerts.models import Channel
from observatory.alerts.secrets import SecretLost, decrypt
from observatory.runtime.configuration.fields import Field, Shape, Value
from observatory.runtime.configuration.kind import ACTOR, Context, Item, Kind
from observatory.runtime.configuration.scopes import names, projects_data, rules_data

ADDRESS = "address"


class ChannelKind(Kind):
    name, section, model = "channel", "channels", Channel
    fields = (
        Field("name"),
        Field("kind", is_always_written=True),
        Field("enabled", Shape.FLAG),
        Field("minimum_severity"),
        Field("tells_resolved", Shape.FLAG),
        Field("messages_an_hour"),
        Field("repeat_hours"),
    )
    further_keys = (ADDRESS, "projects", "rules")

    def key_of(self, row: Channel) -> str:
        return row.name

    def find(self, item: Item) -> list[Channel]:
        return list(Channel.objects.filter(name=item.key))

    def data(self, item: Item, context: Context) -> dict[str, Any]:
        node = item.node.entries.get(ADDRESS)
        if node is not None and (secret := context.secrets.read(node, context.problems)):
            item.secrets[ADDRESS] = secret
        elif node is None:
            context.problems.add(item.place_of(ADDRESS), "A channel needs an address.")
        lists = {"projects": projects_data(item, context), "rules": rules_data(item, context)}
        texts = {name: each.text for name, each in item.secrets.items()}
        return {**super().data(item, context), **lists, **texts}

    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        form = ChannelForm(data, instance=item.existing)
        form.user = ACTOR
        return form

    def values(self, row: Channel) -> dict[str, Value]:
        return {
            **super().values(row),
            "projects": names("projects", row.projects.all()),
            "rules": names("rules", row.rules.all()),
        }

    def values_of_form(self, form: Any, item: Item) -> dict[str, Value]:
        chosen = {key: names(key, form.cleaned_data[key]) for key in ("projects", "rules")}
        return {**super().values(form.instance), **chosen}

    def changed_secrets(self, form: ChannelForm, item: Item) -> list[str]:
        try:
            stored = decrypt(form.instance.secret) if form.instance.secret else ""
        except SecretLost:
            stored = ""
        return [] if stored == form.cleaned_data[ADDRESS] else [ADDRESS]

    def stored_secrets(self, row: Channel) -> list[str]:
        return [ADDRESS]

    def rows(self) -> QuerySet[Channel]:
        return Channel.objects.prefetch_related("projects", "rules").order_by("name", "pk")

    def remove(self, row: Channel) -> str:
        """One that has sent something is a record of that."""
        if count := row.deliveries.count():
            row.enabled = False
            row.save(update_fields=["enabled"])
            return f"It is disabled, as {count} notifications are its record. The admin deletes it."
        return super().remove(row)
