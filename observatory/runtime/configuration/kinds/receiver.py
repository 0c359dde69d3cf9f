"""Receivers of runs. Their addresses and headers are secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from observatory.exchange.admin.receiver_form import ReceiverForm
from observatory.exchange.models import Receiver
from observatory.exchange.receivers.secrets import decrypt
from observatory.runtime.configuration.fields import Field, Shape
from observatory.runtime.configuration.kind import ACTOR, Item
from observatory.runtime.configuration.scopes import projects_data
from observatory.runtime.configuration.sending_kind import ADDRESS, SendingKind

HEADERS = "headers"


class ReceiverKind(SendingKind):
    name, section, model = "receiver", "receivers", Receiver
    fields = (
        Field("name"),
        Field("kind", is_always_written=True),
        Field("enabled", Shape.FLAG),
        Field("run_names", Shape.LINES),
        Field("most_tasks"),
        Field("sends_logs", Shape.FLAG),
        Field("sends_metrics", Shape.FLAG),
        Field("sends_arguments", Shape.FLAG),
    )
    secrets = (ADDRESS, HEADERS)
    lists = {"projects": projects_data}
    deliveries = "sent runs"

    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        form = ReceiverForm(data, instance=item.existing)
        form.user = ACTOR
        return form

    def secrets_of(self, row: Receiver) -> dict[str, str]:
        stored = decrypt(row.secret)
        return _written(stored.url, stored.headers)

    def secrets_of_form(self, form: ReceiverForm) -> dict[str, str]:
        return _written(form.cleaned_data[ADDRESS], form.cleaned_data[HEADERS])


def _written(url: str, headers: Mapping[str, str]) -> dict[str, str]:
    lines = "\n".join(f"{name}: {value}" for name, value in headers.items())
    return {ADDRESS: url, **({HEADERS: lines} if lines else {})}
