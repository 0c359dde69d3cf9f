"""The fields of credentials in a form. What is stored is never shown; empty fields keep it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.utils.html import escape

from observatory.collect.credentials.credentials import (
    LABELS,
    PARTS,
    SECRET,
    Credentials,
    CredentialsError,
)
from observatory.collect.credentials.storage import CredentialsLost, seal, unseal

FIELDS = tuple(name for names in PARTS.values() for name in names)
UNSEEN = {"autocomplete": "off", "spellcheck": "false"}


class UnshownText(forms.Textarea):
    """A text of several lines that is not sent back, not even when the form has errors."""

    def format_value(self, value: Any) -> str | None:
        return None


def unshown_text(label: str, help_text: str) -> forms.CharField:
    widget = UnshownText(attrs={**UNSEEN, "rows": 3})
    return forms.CharField(label=label, required=False, strip=True, widget=widget, help_text=help_text)


def unshown_line(label: str, help_text: str) -> forms.CharField:
    widget = forms.PasswordInput(attrs={**UNSEEN, "autocomplete": "new-password"})
    return forms.CharField(label=label, required=False, strip=False, widget=widget, help_text=help_text)


class CredentialsForm(forms.Form):
    """Fields for a form whose object has credentials: `stored` before, `credentials` after cleaning."""

    username = forms.CharField(
        label="User name",
        required=False,
        widget=forms.TextInput(attrs=UNSEEN),
        help_text="For basic authentication, together with a password.",
    )
    password = unshown_line("Password", "Stored encrypted and never shown again, as all credentials.")
    token = unshown_line("Bearer token", "Sent as Authorization: Bearer …")
    headers = unshown_text("Headers", "One a line, as in X-Api-Key: … or Authorization: token …")
    ca = unshown_text(
        "Certificates of authorities",
        "As PEM: trusted instead of the system's, for an https:// address with a private CA.",
    )
    certificate = unshown_text("Client certificate", "As PEM, with its chain.")
    key = unshown_text("Private key", "Of the client certificate, as PEM without a passphrase.")
    forget = forms.MultipleChoiceField(
        label="Remove stored credentials", required=False, widget=forms.CheckboxSelectMultiple
    )

    stored = Credentials()
    credentials = Credentials()

    def show_stored(self, secret: str) -> None:
        """Reads what is stored, and says in help texts what that is."""
        try:
            self.stored = unseal(secret)
        except CredentialsLost as error:
            self.fields["username"].help_text = str(error)
            self._offer_to_forget([("lost", "what cannot be decrypted")])
            return
        parts = self.stored.parts()
        for part in parts:
            stored = escape(self.stored.describe(part))  # help texts are shown as HTML
            self.fields[PARTS[part][0]].help_text = f"Stored: {stored}. Leave empty to keep it."
        self._offer_to_forget([(part, LABELS[part]) for part in parts])

    def credential_fields(self) -> list[forms.BoundField]:
        """All but the one that removes."""
        return [self[name] for name in FIELDS]

    def has_credential_errors(self) -> bool:
        return any(name in self.errors for name in FIELDS)

    def _offer_to_forget(self, choices: list[tuple[str, str]]) -> None:
        self.fields["forget"].choices = choices  # type: ignore[attr-defined]
        self.fields["forget"].help_text = "" if choices else "No credentials are stored."

    @property
    def credentials_changed(self) -> bool:
        return bool({*FIELDS, "forget"} & set(self.changed_data))

    def clean_credentials(self) -> None:
        """Sets `credentials`: the entered ones, and of the stored ones those that are kept."""
        entered = {name: self.cleaned_data.get(name, "") for name in FIELDS}
        kept = self.stored
        for part, names in PARTS.items():
            if any(entered[name] for name in names) or part in self.cleaned_data.get("forget", []):
                kept = kept.without(part)
        self.credentials = Credentials.of(
            {name: value or getattr(kept, name) for name, value in entered.items()}
        )
        try:
            self.credentials.check()
        except CredentialsError as error:
            self.add_error(error.field, str(error))

    def refuse_another_host(self, field: str, url: str) -> None:
        """Refuses to send stored secrets to another host than before."""
        before, now = urlsplit(self.initial.get(field) or ""), urlsplit(url)
        if (before.scheme, before.netloc) != (now.scheme, now.netloc):
            self.refuse_stored_secrets(field, "The address was changed")

    def refuse_stored_secrets(self, field: str, change: str) -> None:
        """Refuses a change that sends stored secrets, which the person may not know, somewhere else."""
        if any(self.stored.has(part) and not self._is_replaced(part) for part in SECRET):
            self.add_error(field, f"{change}: enter the credentials again, or remove those that are stored.")

    def _is_replaced(self, part: str) -> bool:
        is_entered = any(self.cleaned_data.get(name) for name in PARTS[part])
        return is_entered or part in self.cleaned_data.get("forget", [])

    def secret(self, before: str) -> str:
        """The text to store in place of `before`, which stays as long as the credentials do."""
        return seal(self.credentials) if self.credentials_changed else before
