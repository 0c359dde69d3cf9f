"""The forms of silences and maintenance windows."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.timezone import now

from observatory.alerts.models import MaintenanceWindow, Silence
from observatory.alerts.silences.maintenance import PERIODS
from observatory.alerts.silences.matchers import MatcherError, parse_matchers

if TYPE_CHECKING:
    SilenceFormBase = forms.ModelForm[Silence]
    MaintenanceFormBase = forms.ModelForm[MaintenanceWindow]
else:
    SilenceFormBase = MaintenanceFormBase = forms.ModelForm

DEFAULT_DURATION = timedelta(hours=2)


class SilenceForm(SilenceFormBase):
    class Meta:
        model = Silence
        fields = ("matchers", "projects", "starts", "expires", "comment")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "expires" in self.fields:
            self.fields["expires"].initial = lambda: now().replace(microsecond=0) + DEFAULT_DURATION

    def clean_matchers(self) -> str:
        text: str = self.cleaned_data["matchers"].strip()
        try:
            matchers = parse_matchers(text)
        except MatcherError as error:
            raise ValidationError(str(error)) from None
        if all(matcher.matches({}) for matcher in matchers):
            raise ValidationError(
                'This would silence every alert. Add a label that has to match, such as rule="Worker lost", '
                "or create a maintenance window."
            )
        return text

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        starts, expires = cleaned.get("starts"), cleaned.get("expires")
        if expires and "expires" in self.changed_data and expires <= now():
            self.add_error("expires", "This time is in the past.")
        elif starts and expires and expires <= starts:
            self.add_error("expires", "The silence has to expire after its start.")
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
            self.add_error("stops", "The maintenance has to stop after its start.")
        elif period is not None and stops - starts >= period:
            hours = period // timedelta(hours=1)
            self.add_error("repeat", f"It lasts longer than the {hours} hours after which it repeats.")
        return cleaned
