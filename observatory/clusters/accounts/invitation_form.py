"""The form of an invitation, for pages and the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from observatory.clusters.accounts import invitations
from observatory.clusters.accounts.models import Invitation
from observatory.clusters.models import Project

if TYPE_CHECKING:
    InvitationFormBase = forms.ModelForm[Invitation]
else:
    InvitationFormBase = forms.ModelForm


class InvitationForm(InvitationFormBase):
    days = forms.IntegerField(
        label="Expires after (days)",
        min_value=1,
        max_value=invitations.LONGEST_DAYS,
        initial=invitations.DAYS,
    )
    field_order = ("role", "note", "days", "uses")

    class Meta:
        model = Invitation
        fields = ("role", "note", "uses")

    def __init__(self, project: Project, data: Any = None) -> None:
        super().__init__(data, auto_id="id_invitation_%s")  # other forms of the page have these names, too
        self.project = project

    def clean(self) -> dict[str, Any]:
        if invitations.open_invitations(self.project).count() >= invitations.MOST_OPEN:
            raise ValidationError(
                f"The project has {invitations.MOST_OPEN} open invitations. Revoke one first."
            )
        return super().clean() or self.cleaned_data

    def make(self, user: User) -> tuple[Invitation, str]:
        """The invitation of `user`, who manages the project, and its token. Only with a valid form."""
        token = invitations.make(self.instance, self.project, user, self.cleaned_data["days"])
        return self.instance, token
