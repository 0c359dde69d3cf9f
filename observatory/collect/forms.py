"""The form of a target, used by the pages, the admin and the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django import forms
from django.core.exceptions import ValidationError

from observatory.clusters import access
from observatory.clusters.addresses.http_addresses import clean_target_url
from observatory.clusters.models import Target
from observatory.collect.credentials.form import CredentialsForm
from observatory.collect.project_form import UniqueInProject
from observatory.collect.scheduler.probe import ProbeError, probe_target

if TYPE_CHECKING:
    TargetFormBase = forms.ModelForm[Target]
else:
    TargetFormBase = forms.ModelForm


MOST_TARGETS = 20_000
"""of a project, with those of its discoveries"""


class TargetForm(UniqueInProject, TargetFormBase, CredentialsForm):
    """Refuses an address that cannot be reached or is not a Dask scheduler."""

    probes = True
    """whether the address is requested"""

    class Meta:
        model = Target
        fields = (
            "project",
            "name",
            "url",
            "enabled",
            "workers",
            "identity_interval",
            "metrics_interval",
            "series_limit",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.show_stored(self.instance.secret)
        if "name" in self.fields:
            self.fields["name"].required = False
            self.fields["name"].help_text = "Default: host and port of the address."
        if "workers" in self.fields:
            self.fields["workers"].required = False

    def clean_url(self) -> str:
        url = clean_target_url(self.cleaned_data["url"])
        if self.instance.discovery is not None and url != self.instance.url:
            raise ValidationError(
                f"The discovery {self.instance.discovery} lists this target: its address stays."
            )
        return url

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        url = cleaned.get("url")
        if url and not cleaned.get("name"):
            cleaned["name"] = urlsplit(url).netloc[:100]
        self.require_room(MOST_TARGETS, "targets")
        self.clean_credentials()
        if url:
            self.refuse_another_host("url", url)
        if "workers" in self.changed_data and cleaned.get("workers") == Target.Workers.CREDENTIALS:
            self.refuse_stored_secrets("workers", "Workers did not get the credentials before")
        return cleaned

    def save(self, commit: bool = True) -> Target:
        self.instance.secret = self.secret(self.instance.secret)
        return super().save(commit)

    def _post_clean(self) -> None:
        # after the model's own checks, so that a duplicate address is not probed
        super()._post_clean()  # type: ignore[misc]
        if self.probes and not self.errors and ("url" in self.changed_data or self.credentials_changed):
            try:
                probe_target(self.cleaned_data["url"], self.credentials)
            except ProbeError as error:
                self.add_error("url", ValidationError(str(error)))


def target_form(user: access.Person, data: Any = None, target: Target | None = None) -> TargetForm:
    """The form for a new target, or for `target`, whose project is fixed."""
    form = TargetForm(data, instance=target)
    if target is None:
        projects = access.projects_to_set_targets_in(user)
        form.fields["project"].queryset = projects  # type: ignore[attr-defined]
        if data is None:
            form.fields["project"].initial = projects.first()
    else:
        del form.fields["project"]
    return form
