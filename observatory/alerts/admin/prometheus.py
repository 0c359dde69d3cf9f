"""Import and export of Prometheus rule files, a mixin of RuleAdmin."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectMultipleWidget,
    UnfoldAdminTextareaWidget,
    UnfoldBooleanWidget,
)

from observatory.alerts.models import Rule
from observatory.alerts.prometheus.document import DocumentError
from observatory.alerts.prometheus.files import Imported, export_rules, import_rules
from observatory.base.plain_yaml import MAX_SIZE
from observatory.clusters import access
from observatory.clusters.models import Project


class ImportForm(forms.Form):
    """A rule file, or its text."""

    file = forms.FileField(required=False, widget=UnfoldAdminFileFieldWidget)
    text = forms.CharField(
        label="or text",
        required=False,
        max_length=MAX_SIZE,
        widget=UnfoldAdminTextareaWidget({"rows": 12, "spellcheck": "false"}),
    )
    projects = forms.ModelMultipleChoiceField(
        Project.objects.none(),
        required=False,
        widget=UnfoldAdminSelectMultipleWidget,
        help_text="Empty: all.",
    )
    enabled = forms.BooleanField(
        label="Enable the imported rules",
        required=False,
        widget=UnfoldBooleanWidget,
        help_text="Otherwise they are disabled: back-test them, then enable them.",
    )

    def __init__(self, user: User, *arguments: Any) -> None:
        super().__init__(*arguments)
        projects = cast("forms.ModelMultipleChoiceField[Project]", self.fields["projects"])
        projects.queryset = access.projects_to_manage(user)
        if not user.is_superuser:
            projects.required, projects.help_text = True, "Projects that you manage."

    def clean_file(self) -> str:
        file = self.cleaned_data["file"]
        if file is None:
            return ""
        if file.size > MAX_SIZE:
            raise ValidationError(f"The file is larger than {MAX_SIZE // 2**20} MiB.")
        try:
            return cast(bytes, file.read()).decode()
        except UnicodeDecodeError:
            raise ValidationError("The file isn't UTF-8 text.") from None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors and not (cleaned["file"] or cleaned["text"].strip()):
            raise ValidationError("Choose a file or paste its text.")
        return cleaned

    def imported(self, user: User) -> Imported | None:
        """Imports the rules of a valid form; None if the file can't be read."""
        cleaned = self.cleaned_data
        try:
            return import_rules(
                cleaned["file"] or cleaned["text"], cleaned["enabled"], cleaned["projects"], user
            )
        except DocumentError as error:
            self.add_error("file" if cleaned["file"] else "text", str(error))
            return None


class PrometheusMixin(ModelAdmin):
    """Buttons above the list of rules, and an action on selected ones."""

    actions_list = ["import_from_prometheus", "export_all"]
    actions: Any = ("export_selected",)

    @action(description="Import from Prometheus", url_path="import", permissions=["add"])
    def import_from_prometheus(self, request: HttpRequest) -> HttpResponse:
        user = cast(User, request.user)
        sent = (request.POST, request.FILES) if request.method == "POST" else ()
        form = ImportForm(user, *sent)
        imported = form.imported(user) if sent and form.is_valid() else None
        for rule in imported.rules if imported else ():
            self.log_addition(request, rule, "Imported from a Prometheus rule file.")
        context = {
            **self.admin_site.each_context(request),
            "title": "Import from Prometheus",
            "opts": self.model._meta,
            "form": form,
            "imported": imported,
        }
        return render(request, "admin/alerts/rule/import.html", context)

    @action(description="Export as YAML", url_path="export", permissions=["view"])
    def export_all(self, request: HttpRequest) -> HttpResponse:
        return _file(self.get_queryset(request))

    @admin.action(description="Export as Prometheus YAML", permissions=["view"])
    def export_selected(self, request: HttpRequest, queryset: QuerySet[Rule]) -> HttpResponse:
        return _file(queryset)


def _file(rules: QuerySet[Rule]) -> HttpResponse:
    text = export_rules(rules.prefetch_related("conditions"))
    disposition = {"Content-Disposition": 'attachment; filename="observatory-rules.yml"'}
    return HttpResponse(text, content_type="application/yaml", headers=disposition)
