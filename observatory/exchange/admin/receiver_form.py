"""The form of receivers of runs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget

from observatory.alerts.admin.address_form import HIDDEN, AddressForm
from observatory.alerts.notifying.addresses import clean_address
from observatory.alerts.web.access import managed
from observatory.clusters.limits.room import require_room
from observatory.exchange.models import Receiver
from observatory.exchange.receivers.headers import read_headers
from observatory.exchange.receivers.kinds import LABELS, receiver_kind
from observatory.exchange.receivers.receiver_kind import Address
from observatory.exchange.receivers.secrets import decrypt, encrypt

MOST_RECEIVERS = 50
"""of the projects that somebody owns"""


class ReceiverForm(AddressForm):
    """Headers are entered and never shown again, as the address is."""

    headers = forms.CharField(
        required=False, max_length=20_000, widget=UnfoldAdminTextareaWidget(attrs={**HIDDEN, "rows": 3})
    )

    class Meta:
        model = Receiver
        fields = (
            "name",
            "kind",
            "enabled",
            "projects",
            "run_names",
            "most_tasks",
            "sends_logs",
            "sends_metrics",
            "sends_arguments",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "headers" in self.fields:
            self.fields["headers"].help_text = (
                "For OpenTelemetry: one a line, such as Authorization: Bearer … They are stored encrypted, "
                "and replaced whenever an address or headers are entered."
            )

    def require_room(self) -> None:
        if not self.user.is_superuser:
            rows = managed(Receiver.objects.all(), self.user)
            require_room(rows, MOST_RECEIVERS, "What you manage", "receivers")

    def cleaned_address(self, kind: str, text: str) -> str:
        return clean_address(receiver_kind(kind), text)

    def stored_address(self) -> str:
        return decrypt(self.instance.secret).url

    def examples(self) -> dict[str, str]:
        return {label: receiver_kind(name).examples for name, label in LABELS.items()}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        try:
            cleaned["headers"] = read_headers(cleaned.get("headers", ""))
        except ValidationError as error:
            self.add_error("headers", error)
        return cleaned

    def save(self, commit: bool = True) -> Receiver:
        url, headers = self.cleaned_data.get("address"), self.cleaned_data.get("headers")
        if url:
            self.instance.secret = encrypt(Address(url, headers or {}))
        elif headers:
            self.instance.secret = encrypt(Address(self.stored_address(), headers))
        saved: Receiver = super().save(commit)
        return saved
