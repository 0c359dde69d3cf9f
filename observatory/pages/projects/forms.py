"""Forms of a project's page: its settings, a new member, a new ingest token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from observatory.clusters.models import Membership, Project

if TYPE_CHECKING:
    ProjectFormBase = forms.ModelForm[Project]
    MemberFormBase = forms.ModelForm[Membership]
else:
    ProjectFormBase = MemberFormBase = forms.ModelForm


class ProjectForm(ProjectFormBase):
    class Meta:
        model = Project
        fields = ("name", "retention_days", "run_idle_seconds")


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
            raise ValidationError(
                "No active user has this name. Ask an administrator to create the user in the admin."
            )
        if Membership.objects.filter(project=self.instance.project, user=user).exists():
            raise ValidationError("This user is already a member.")
        self.instance.user = user
        return str(name)


class IngestTokenForm(forms.Form):
    name = forms.CharField(
        label="Name", max_length=100, help_text="Where it is used: “nightly ETL on the cluster”."
    )
