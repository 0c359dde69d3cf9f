"""Limits the admin to the user's projects. Superusers see everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from observatory.alerts.web.access import managed
from observatory.clusters import access
from observatory.clusters.models import Target

if TYPE_CHECKING:
    ProjectScopedAdminBase = admin.ModelAdmin[Any]
else:
    ProjectScopedAdminBase = ModelAdmin


class ProjectScopedAdmin(ProjectScopedAdminBase):
    """For models with `projects` (none means all) and `created_by`."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        found: QuerySet[Any] = super().get_queryset(request).prefetch_related("projects")
        return managed(found, cast(User, request.user))

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)  # a class made for this request
        form.user = request.user  # type: ignore[attr-defined]
        if "projects" in form.base_fields and not cast(User, request.user).is_superuser:
            form.base_fields["projects"].required = True
            form.base_fields["projects"].help_text = "Projects that you manage."
        return form

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """With the project of who manages one."""
        projects = access.projects_to_manage(cast(User, request.user))[:2]
        only = {} if cast(User, request.user).is_superuser or len(projects) != 1 else {"projects": projects}
        return {**only, **super().get_changeform_initial_data(request)}

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        projects = access.projects_to_manage(cast(User, request.user))
        if db_field.name == "projects":
            kwargs["queryset"] = projects
        elif db_field.name == "targets":
            kwargs["queryset"] = Target.objects.filter(project__in=projects).select_related("project")
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.created_by = request.user
        super().save_model(request, obj, form, change)

    @admin.display(description="projects")
    def scope(self, item: Any) -> str:
        return ", ".join(str(project) for project in item.projects.all()) or "all"
