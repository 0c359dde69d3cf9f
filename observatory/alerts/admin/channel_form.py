"""The form of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextInputWidget

from observatory.alerts.models import Channel
from observatory.alerts.notifying.addresses import MAX_LENGTH, clean_address, mask_address
from observatory.alerts.notifying.channels import channel_kinds
from observatory.alerts.secrets import SecretLost, decrypt, encrypt
from observatory.alerts.web.access import managed, require_room_for_a_channel

if TYPE_CHECKING:
    ChannelFormBase = forms.ModelForm[Channel]
else:
    ChannelFormBase = forms.ModelForm


class ChannelForm(ChannelFormBase):
    """The address is entered and never shown again."""

    user: User
    address = forms.CharField(
        required=False,
        max_length=MAX_LENGTH,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    class Meta:
        model = Channel
        fields = (
            "name",
            "kind",
            "enabled",
            "minimum_severity",
            "projects",
            "rules",
            "tells_resolved",
            "messages_an_hour",
            "repeat_hours",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "address" in self.fields:
            self.fields["address"].help_text = self._address_help()

    def clean(self) -> dict[str, Any]:
        if self.instance.pk is None:
            require_room_for_a_channel(self.user)
        cleaned = super().clean() or self.cleaned_data
        kind = cleaned.get("kind", self.instance.kind)
        try:
            if text := cleaned.get("address"):
                cleaned["address"] = clean_address(kind, text)
            else:
                self._keep_address(kind)
        except ValidationError as error:
            self.add_error("address", error)
        return cleaned

    def clean_name(self) -> str:
        """Owners of different projects may choose one name."""
        name: str = self.cleaned_data["name"]
        if "name" in self.changed_data and managed(Channel.objects.filter(name=name), self.user).exists():
            raise ValidationError("A channel with this name exists.")
        return name

    def save(self, commit: bool = True) -> Channel:
        if self.cleaned_data.get("address"):
            self.instance.secret = encrypt(self.cleaned_data["address"])
        return super().save(commit)

    def _keep_address(self, kind: str) -> None:
        """Raises ValidationError if no address is stored, or only one of another kind."""
        if not self.instance.secret:
            raise ValidationError("Enter an address.")
        if "kind" in self.changed_data:
            raise ValidationError("The kind was changed: enter an address of the new kind.")
        try:
            decrypt(self.instance.secret)
        except SecretLost as error:
            raise ValidationError(str(error)) from None

    def _address_help(self) -> str:
        if not self.instance.secret:
            examples = "; ".join(f"{kind.name}: {kind.examples}" for kind in channel_kinds().values())
            return f"{examples}. The address is stored encrypted and never shown again."
        try:
            return f"Stored: {mask_address(decrypt(self.instance.secret))} Leave empty to keep it."
        except SecretLost as error:
            return str(error)
