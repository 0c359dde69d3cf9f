"""The form of a discovery, used by the pages, the admin, the API and the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django import forms
from django.core.exceptions import ValidationError

from observatory.clusters import access
from observatory.clusters.models import Discovery, Target
from observatory.collect.credentials.form import CredentialsForm
from observatory.collect.discovery.kinds import discovery_kinds, kind_choices
from observatory.collect.http.addresses import HOST_NAME
from observatory.collect.project_form import UniqueInProject

if TYPE_CHECKING:
    DiscoveryFormBase = forms.ModelForm[Discovery]
else:
    DiscoveryFormBase = forms.ModelForm

MOST_DISCOVERIES = 100
"""of a project"""
REQUESTED = {"kind", "address", "namespace"}
"""Fields that say which list is requested."""


class DiscoveryForm(UniqueInProject, DiscoveryFormBase, CredentialsForm):
    """Finds nothing itself: the list is requested within some seconds by Celery."""

    kind = forms.ChoiceField(choices=kind_choices)

    is_superuser = False
    """Whether the person may use what belongs to the server: its files, its service account."""

    class Meta:
        model = Discovery
        fields = (
            "project",
            "name",
            "kind",
            "address",
            "namespace",
            "enabled",
            "interval",
            "workers",
            "shares_credentials",
            "identity_interval",
            "metrics_interval",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.show_stored(self.instance.secret)
        self.secret_before = self.instance.shared_secret
        if "address" not in self.fields:  # who only reads it has no fields
            return
        examples = (f"{kind.examples} ({name})" for name, kind in discovery_kinds().items())
        self.fields["address"].help_text = f"Where the list is: {'; '.join(examples)}."
        self.fields["name"].required = False
        self.fields["name"].help_text = "Default: host of the address."
        self.fields["workers"].required = False

    def clean_namespace(self) -> str:
        namespace = self.cleaned_data["namespace"]
        if namespace and not HOST_NAME.fullmatch(namespace):
            raise ValidationError("This is no name of a namespace.")
        return str(namespace)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "kind" in cleaned and "address" in cleaned:
            self._clean_address(cleaned)
        if not cleaned.get("name"):
            cleaned["name"] = (urlsplit(cleaned.get("address", "")).netloc or cleaned.get("kind", ""))[:100]
        self.require_room(MOST_DISCOVERIES, "discoveries")
        self.clean_credentials()
        if "shares_credentials" in self.changed_data and cleaned.get("shares_credentials"):
            self.refuse_stored_secrets(
                "shares_credentials", "Found targets did not get the credentials before"
            )
        if "workers" in self.changed_data and cleaned.get("workers") == Target.Workers.CREDENTIALS:
            self.refuse_stored_secrets("workers", "Workers did not get the credentials before")
        return cleaned

    def _clean_address(self, cleaned: dict[str, Any]) -> None:
        """Checks the address as its kind wants it, and whether the person may use this kind."""
        kind = discovery_kinds()[cleaned["kind"]]
        if reason := "" if self.is_superuser else kind.why_superuser(cleaned["address"]):
            self.add_error("kind", reason)
            return
        try:
            cleaned["address"] = kind.clean_address(cleaned["address"])
        except ValidationError as error:
            self.add_error("address", error)
            return
        self.refuse_another_host("address", cleaned["address"])
        if cleaned.get("namespace") and not kind.has_namespaces:
            self.add_error("namespace", "Only Kubernetes has namespaces.")
        if cleaned.get("shares_credentials") and not kind.may_share_credentials:
            self.add_error("shares_credentials", "Credentials of this kind are not for clusters.")

    def save(self, commit: bool = True) -> Discovery:
        """Found targets with the credentials of before get the new ones. A new list is requested at once."""
        self.instance.secret = self.secret(self.instance.secret)
        if self.credentials_changed or REQUESTED & set(self.changed_data):
            self.instance.looked = self.instance.answered = None
            self.instance.error = self.instance.warning = ""
        saved = super().save(commit)
        if saved.pk and self.secret_before != saved.shared_secret:
            found = Target.objects.filter(discovery=saved, secret=self.secret_before)
            found.update(secret=saved.shared_secret)
        return saved


def discovery_form(
    user: access.Person, data: Any = None, discovery: Discovery | None = None
) -> DiscoveryForm:
    """The form for a new discovery, or for `discovery`, whose project is fixed."""
    form = DiscoveryForm(data, instance=discovery)
    form.is_superuser = user.is_superuser
    if discovery is None:
        projects = access.projects_to_set_targets_in(user)
        form.fields["project"].queryset = projects  # type: ignore[attr-defined]
        form.fields["project"].initial = projects.first()
    else:
        del form.fields["project"]
    return form
