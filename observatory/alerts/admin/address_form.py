"""What the forms of channels and of receivers of runs share: an address that is stored encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextInputWidget

from observatory.alerts.notifying.addresses import MAX_LENGTH, mask_address
from observatory.alerts.secrets import SecretLost
from observatory.alerts.web.access import managed

HIDDEN = {"autocomplete": "off", "spellcheck": "false"}
"""attributes of fields whose content browsers should not keep"""

if TYPE_CHECKING:
    AddressFormBase = forms.ModelForm[Any]
else:
    AddressFormBase = forms.ModelForm


class AddressForm(AddressFormBase):
    """For models with `name`, `kind`, `projects` and `secret`.

    The address is entered and never shown again.
    """

    user: User
    address = forms.CharField(
        required=False, max_length=MAX_LENGTH, widget=UnfoldAdminTextInputWidget(attrs=HIDDEN)
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "address" in self.fields:
            self.fields["address"].help_text = self._address_help()

    def require_room(self) -> None:
        """Raises ValidationError where the user may add no more."""
        raise NotImplementedError

    def cleaned_address(self, kind: str, text: str) -> str:
        """Raises ValidationError, which says what is wrong."""
        raise NotImplementedError

    def stored_address(self) -> str:
        """Raises SecretLost."""
        raise NotImplementedError

    def examples(self) -> dict[str, str]:
        """Of addresses, by the name of the kind."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        if self.instance.pk is None:
            self.require_room()
        cleaned = super().clean() or self.cleaned_data
        kind = cleaned.get("kind", self.instance.kind)
        try:
            if text := cleaned.get("address"):
                cleaned["address"] = self.cleaned_address(kind, text)
            else:
                self._keep_address()
        except ValidationError as error:
            self.add_error("address", error)
        return cleaned

    def clean_name(self) -> str:
        """Owners of different projects may choose one name."""
        name: str = self.cleaned_data["name"]
        same = self._meta.model._default_manager.filter(name=name)
        if "name" in self.changed_data and managed(same, self.user).exists():
            raise ValidationError(f"A {self.instance._meta.model_name} with this name exists.")
        return name

    def _keep_address(self) -> None:
        """Raises ValidationError if no address is stored, or only one of another kind."""
        if not self.instance.secret:
            raise ValidationError("Enter an address.")
        if "kind" in self.changed_data:
            raise ValidationError("The kind was changed: enter an address of the new kind.")
        try:
            self.stored_address()
        except SecretLost as error:
            raise ValidationError(str(error)) from None

    def _address_help(self) -> str:
        if not self.instance.secret:
            examples = "; ".join(f"{name}: {examples}" for name, examples in self.examples().items())
            return f"{examples}. The address is stored encrypted and never shown again."
        try:
            return f"Stored: {mask_address(self.stored_address())} Leave empty to keep it."
        except SecretLost as error:
            return str(error)
