"""Forms of a project's page: its settings, a new member, a new ingest token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Project

if TYPE_CHECKING:
    ProjectFormBase = forms.ModelForm[Project]
    MemberFormBase = forms.ModelForm[Membership]
else:
    ProjectFormBase = MemberFormBase = forms.ModelForm

PRICES = ("thread_hour_price", "gib_hour_price", "worker_hour_price")


class ProjectForm(ProjectFormBase):
    class Meta:
        model = Project
        fields = (
            *("name", "retention_days", "run_idle_seconds"),
            *(*PRICES, "currency"),
        )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in PRICES:
            if name in cleaned and cleaned[name] is None:
                cleaned[name] = 0
        if any(cleaned.get(name) for name in PRICES) and cleaned.get("currency") == "":
            self.add_error("currency", "Enter the currency of the prices, such as EUR.")
        return cleaned


class MemberForm(MemberFormBase):
    """A user, given by name, and a role."""

    username = forms.CharField(label="User name", max_length=150)
    field_order = ("username", "role")

    class Meta:
        model = Membership
        fields = ("role",)

    def __init__(self, project: Project, data: Any = None) -> None:
        super().__init__(data, instance=Membership(project=project))

    def clean_username(self) -> str:
        name = self.cleaned_data["username"]
        user = User.objects.filter(username=name, is_active=True).first()
        if user is None:
            raise ValidationError("No active user has this name. Invite the person by a link, below.")
        if Membership.objects.filter(project=self.instance.project, user=user).exists():
            raise ValidationError("This user is already a member.")
        self.instance.user = user
        return str(name)


class IngestTokenForm(forms.Form):
    name = forms.CharField(
        label="Name", max_length=100, help_text="Where it is used: “nightly ETL on the cluster”."
    )
