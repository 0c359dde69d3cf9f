from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User

from observatory.clusters.tokens.models import AccessToken

LIFETIMES = {"30": "30 days", "90": "90 days", "365": "1 year", "": "no expiry"}
"""by days"""

if TYPE_CHECKING:
    AccountFormBase = UserCreationForm[User]
else:
    AccountFormBase = UserCreationForm


class AccountForm(AccountFormBase):
    """A name and a password, of who joins by an invitation."""


class AccessTokenForm(forms.Form):
    name = forms.CharField(label="Name", max_length=100, help_text="The program that uses it: “my notebook”.")
    days = forms.ChoiceField(label="Expires", choices=list(LIFETIMES.items()), required=False, initial="90")
    scopes = forms.MultipleChoiceField(
        label="It may also change",
        choices=AccessToken.Scope.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
