"""Channels of notifications. Their addresses are secrets."""

from __future__ import annotations

from typing import Any

from django import forms

from observatory.alerts.admin.channel_form import ChannelForm
from observatory.alerts.models import Channel
from observatory.alerts.secrets import decrypt
from observatory.runtime.configuration.fields import Field, Shape
from observatory.runtime.configuration.kind import ACTOR, Item
from observatory.runtime.configuration.scopes import projects_data, rules_data
from observatory.runtime.configuration.sending_kind import ADDRESS, SendingKind


class ChannelKind(SendingKind):
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
    lists = {"projects": projects_data, "rules": rules_data}
    deliveries = "notifications"

    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        form = ChannelForm(data, instance=item.existing)
        form.user = ACTOR
        return form

    def secrets_of(self, row: Channel) -> dict[str, str]:
        return {ADDRESS: decrypt(row.secret)}

    def secrets_of_form(self, form: ChannelForm) -> dict[str, str]:
        return {ADDRESS: form.cleaned_data[ADDRESS]}
