"""The forms that channels, silences and maintenance are set with. What is refused is told at its field."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.timezone import now
from unfold.widgets import UnfoldAdminTextInputWidget

from observatory.alerts.models import Channel, MaintenanceWindow, Silence
from observatory.alerts.notifying.addresses import EXAMPLES, LONGEST, clean_address
from observatory.alerts.notifying.services import mask_address
from observatory.alerts.secrets import SecretLost, decrypt, encrypt
from observatory.alerts.silences.maintenance import PERIODS
from observatory.alerts.silences.matchers import MatcherError, parse_matchers

if TYPE_CHECKING:
    ChannelFormBase = forms.ModelForm[Channel]
    SilenceFormBase = forms.ModelForm[Silence]
    MaintenanceFormBase = forms.ModelForm[MaintenanceWindow]
else:
    ChannelFormBase = SilenceFormBase = MaintenanceFormBase = forms.ModelForm

USUAL_SILENCE = timedelta(hours=2)


class ChannelForm(ChannelFormBase):
    """Its address is entered and never shown again."""

    address = forms.CharField(
        required=False,
        max_length=LONGEST,
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
            self.fields["address"].help_text = self._what_is_kept()

    def clean(self) -> dict[str, Any]:
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

    def save(self, commit: bool = True) -> Channel:
        if self.cleaned_data.get("address"):
            self.instance.secret = encrypt(self.cleaned_data["address"])
        return super().save(commit)

    def _keep_address(self, kind: str) -> None:
        """Raises ValidationError where there is none, or none of this kind."""
        if not self.instance.secret:
            raise ValidationError("Enter an address.")
        if "kind" in self.changed_data:
            raise ValidationError("Enter an address of this kind.")
        try:
            decrypt(self.instance.secret)
        except SecretLost as error:
            raise ValidationError(str(error)) from None

    def _what_is_kept(self) -> str:
        if not self.instance.secret:
            return f"{EXAMPLES}. Stored encrypted, and never shown again."
        try:
            return f"Stored: {mask_address(decrypt(self.instance.secret))} Left empty, it stays."
        except SecretLost as error:
            return str(error)


class SilenceForm(SilenceFormBase):
    class Meta:
        model = Silence
        fields = ("matchers", "projects", "starts", "expires", "comment")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "expires" in self.fields:
            self.fields["expires"].initial = lambda: now().replace(microsecond=0) + USUAL_SILENCE

    def clean_matchers(self) -> str:
        text: str = self.cleaned_data["matchers"].strip()
        try:
            matchers = parse_matchers(text)
        except MatcherError as error:
            raise ValidationError(str(error)) from None
        if all(matcher.matches({}) for matcher in matchers):
            raise ValidationError(
                'This would silence everything. Name something that has to be there: rule="Worker lost", '
                "or make it maintenance."
            )
        return text

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        starts, expires = cleaned.get("starts"), cleaned.get("expires")
        if expires and "expires" in self.changed_data and expires <= now():
            self.add_error("expires", "This is over. Choose a time to come.")
        elif starts and expires and expires <= starts:
            self.add_error("expires", "It expires before it starts.")
        return cleaned


class MaintenanceForm(MaintenanceFormBase):
    class Meta:
        model = MaintenanceWindow
        fields = ("name", "projects", "targets", "starts", "stops", "repeat")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        starts, stops = cleaned.get("starts"), cleaned.get("stops")
        if not starts or not stops:
            return cleaned
        period = PERIODS.get(cleaned.get("repeat", ""))
        if stops <= starts:
            self.add_error("stops", "It stops before it starts.")
        elif period is not None and stops - starts >= period:
            hours = period // timedelta(hours=1)
            self.add_error(
                "repeat", f"It would never stop: it comes again after {hours} hours, and lasts longer."
            )
        return cleaned
