"""The filter form of the list of alerts. Its fields are the query parameters."""

from __future__ import annotations

from django import forms

from observatory.alerts.models import Alert, Severity
from observatory.alerts.web.listing import ORDERS, AlertFilter
from observatory.pages.site.forms import FilterForm, TimeField

STATES = {
    Alert.State.FIRING: "Firing",
    Alert.State.PENDING: "Pending",
    Alert.State.RESOLVED: "Resolved",
    "all": "All",
}
"""values of the query parameter; the default is firing"""
OPEN = (Alert.State.FIRING, Alert.State.PENDING)


class AlertFilterForm(FilterForm):
    rule_field = "rule"
    detail_names = ("project", "since", "until")

    text = forms.CharField(max_length=200, widget=forms.TextInput(attrs={"type": "search"}))
    severity = forms.ChoiceField(choices=[("", "Any"), *Severity.choices])
    rule = forms.ChoiceField()
    project = forms.ChoiceField()
    since = TimeField(label="From (UTC)", max_length=50)
    until = TimeField(label="to (UTC)", max_length=50)
    cluster = forms.IntegerField(min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)
    state = forms.ChoiceField(choices=list(STATES.items()), widget=forms.HiddenInput)
    each = forms.BooleanField(widget=forms.HiddenInput)
    order = forms.ChoiceField(choices=[(order, order) for order in ORDERS], widget=forms.HiddenInput)

    @property
    def usual(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in self.detail_names]

    @property
    def shown_state(self) -> str:
        self.is_valid()
        return self.cleaned_data.get("state") or Alert.State.FIRING

    @property
    def is_grouped(self) -> bool:
        """Open alerts are shown by rule and cluster, unless each of them is wanted."""
        return self.shown_state in OPEN and not self.cleaned_data.get("each")

    def alert_filter(self) -> AlertFilter:
        """The filter that the form describes. Open alerts begin with the most severe."""
        state = "" if self.shown_state == "all" else self.shown_state
        order = "-severity" if self.shown_state in OPEN else "-since"
        values = {name: value for name, value in self.values().items() if name != "each"}
        return AlertFilter(**{"order": order, **values, "state": state})
