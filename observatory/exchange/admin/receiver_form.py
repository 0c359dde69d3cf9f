"""The form of receivers of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from observatory.alerts.notifying.addresses import MAX_LENGTH, mask_address
from observatory.alerts.notifying.errors import SendError
from observatory.alerts.notifying.receiver_addresses import check_host
from observatory.alerts.web.access import managed
from observatory.clusters.room import require_room
from observatory.exchange.models import Receiver
from observatory.exchange.receivers.headers import read_headers
from observatory.exchange.receivers.kinds import LABELS, receiver_kind
from observatory.exchange.receivers.receiver_kind import Address
from observatory.exchange.receivers.secrets import decrypt, encrypt

MOST_RECEIVERS = 50
"""of the projects that somebody owns"""
HIDDEN = {"autocomplete": "off", "spellcheck": "false"}

if TYPE_CHECKING:
    ReceiverFormBase = forms.ModelForm[Receiver]
else:
    ReceiverFormBase = forms.ModelForm


class ReceiverForm(ReceiverFormBase):
    """Address and headers are entered and never shown again."""

    user: User
    address = forms.CharField(
        required=False, max_length=MAX_LENGTH, widget=UnfoldAdminTextInputWidget(attrs=HIDDEN)
    )
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
        if "address" in self.fields:
            self.fields["address"].help_text = self._address_help()
            self.fields["headers"].help_text = (
                "For OpenTelemetry: one a line, such as Authorization: Bearer … They are stored encrypted, "
                "and replaced whenever an address or headers are entered."
            )

    def clean(self) -> dict[str, Any]:
        if self.instance.pk is None and not self.user.is_superuser:
            rows = managed(Receiver.objects.all(), self.user)
            require_room(rows, MOST_RECEIVERS, "What you manage", "receivers")
        cleaned = super().clean() or self.cleaned_data
        kind = cleaned.get("kind", self.instance.kind)
        try:
            if text := cleaned.get("address"):
                cleaned["address"] = _clean_address(kind, text)
            else:
                self._keep_address(kind)
        except ValidationError as error:
            self.add_error("address", error)
        try:
            cleaned["headers"] = read_headers(cleaned.get("headers", ""))
        except ValidationError as error:
            self.add_error("headers", error)
        return cleaned

    def clean_name(self) -> str:
        """Owners of different projects may choose one name."""
        name: str = self.cleaned_data["name"]
        if "name" in self.changed_data and managed(Receiver.objects.filter(name=name), self.user).exists():
            raise ValidationError("A receiver with this name exists.")
        return name

    def save(self, commit: bool = True) -> Receiver:
        url, headers = self.cleaned_data.get("address"), self.cleaned_data.get("headers")
        if url:
            self.instance.secret = encrypt(Address(url, headers or {}))
        elif headers:
            self.instance.secret = encrypt(Address(decrypt(self.instance.secret).url, headers))
        return super().save(commit)

    def _keep_address(self, kind: str) -> None:
        """Raises ValidationError if no address is stored, or only one of another kind."""
        if not self.instance.secret:
            raise ValidationError("Enter an address.")
        if "kind" in self.changed_data:
            raise ValidationError("The kind was changed: enter an address of the new kind.")
        try:
            decrypt(self.instance.secret)
        except SendError as error:
            raise ValidationError(str(error)) from None

    def _address_help(self) -> str:
        if not self.instance.secret:
            examples = "; ".join(f"{label}: {receiver_kind(name).examples}" for name, label in LABELS.items())
            return f"{examples}. The address is stored encrypted and never shown again."
        try:
            return f"Stored: {mask_address(decrypt(self.instance.secret).url)} Leave empty to keep it."
        except SendError as error:
            return str(error)


def _clean_address(kind: str, text: str) -> str:
    """Raises ValidationError. Looks the host up."""
    text = text.strip()
    if not text.isprintable():
        raise ValidationError("An address must be a single line.")
    cleaned = receiver_kind(kind).clean_address(text)
    try:
        check_host(receiver_kind(kind).host_of(cleaned) or "")
    except SendError as error:
        raise ValidationError(str(error)) from None
    return cleaned
