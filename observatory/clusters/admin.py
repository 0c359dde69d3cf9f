"""Admin of projects, clusters and tokens. accounts/ has the admin of users, collect/ that of targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.timezone import now
from unfold.admin import ModelAdmin, TabularInline

from observatory.clusters import access
from observatory.clusters.accounts import admin as accounts  # noqa: F401 - registers its models
from observatory.clusters.accounts.models import GroupRole, Membership
from observatory.clusters.deletion.admin import DeletableAdmin
from observatory.clusters.limits.rates import RATES
from observatory.clusters.models import Cluster, Project
from observatory.clusters.provisioning.admin import ProvisionedAdmin, is_provisioned
from observatory.clusters.tokens import ingest_tokens
from observatory.clusters.tokens.models import AccessToken, IngestToken

if TYPE_CHECKING:
    AccessTokenAdminBase = admin.ModelAdmin[AccessToken]
    GroupRoleAdminBase = admin.ModelAdmin[GroupRole]
    IngestTokenAdminBase = admin.ModelAdmin[IngestToken]
    ProjectAdminBase = admin.ModelAdmin[Project]
    ClusterAdminBase = admin.ModelAdmin[Cluster]
    MembershipInlineBase = admin.TabularInline[Membership, Project]
else:
    AccessTokenAdminBase = IngestTokenAdminBase = ProjectAdminBase = ClusterAdminBase = ModelAdmin
    GroupRoleAdminBase = ModelAdmin
    MembershipInlineBase = TabularInline

RATE_FIELDS = tuple(rate.field for rate in RATES)

admin.site.index_title = "Administration"


class MembershipInline(MembershipInlineBase):
    """Of a provisioned project, whose page of the admin saves nothing, it is read: members are changed on
    the project's own page."""

    model = Membership
    extra = 1

    def has_add_permission(self, request: HttpRequest, obj: Project | None = None) -> bool:
        return super().has_add_permission(request, obj) and not is_provisioned(obj)

    def has_change_permission(self, request: HttpRequest, obj: Project | None = None) -> bool:
        return super().has_change_permission(request, obj) and not is_provisioned(obj)


@admin.register(Project)
class ProjectAdmin(ProvisionedAdmin, DeletableAdmin, ProjectAdminBase):
    deletable = "project"
    list_display = ("name", "slug", "retention_days", "quota_gib", "run_idle_seconds", "created")
    search_fields = ("name", "slug")
    prepopulated_fields = {"slug": ("name",)}
    inlines = [MembershipInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        return super().get_queryset(request).filter(pk__in=access.visible_projects(cast(User, request.user)))

    def get_readonly_fields(self, request: HttpRequest, obj: Project | None = None) -> tuple[str, ...]:
        """A quota and rates protect other projects: owners don't raise them themselves."""
        return () if cast(User, request.user).is_superuser else ("quota_gib", *RATE_FIELDS)

    def has_change_permission(self, request: HttpRequest, obj: Project | None = None) -> bool:
        return super().has_change_permission(request, obj) and self._may_manage(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Project | None = None) -> bool:
        return super().has_delete_permission(request, obj) and self._may_manage(request, obj)

    def save_model(self, request: HttpRequest, obj: Project, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if obj.is_shortened and obj.longer_until is not None:
            page = format_html('<a href="{}">The project’s page</a>', reverse("project", args=[obj.slug]))
            text = (
                "The shorter retention takes effect on {} UTC. Until then set it back to {} days to keep "
                "everything. {} shows what it will delete."
            )
            when = f"{obj.longer_until:%Y-%m-%d %H:%M}"
            sentence = format_html(text, when, obj.longer_retention_days, page)
            self.message_user(request, sentence, messages.WARNING)

    def _may_manage(self, request: HttpRequest, project: Project | None) -> bool:
        return project is None or access.may_manage(cast(User, request.user), project)


@admin.register(GroupRole)
class GroupRoleAdmin(ProvisionedAdmin, GroupRoleAdminBase):
    """The roles that groups of a proxy or single sign-on give in projects that one manages."""

    list_display = ("group", "project", "role")
    list_filter = ("project", "role")
    search_fields = ("group",)
    list_select_related = ("project",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[GroupRole]:
        return super().get_queryset(request).filter(project__in=self._projects(request))

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "project":
            kwargs["queryset"] = self._projects(request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def _projects(self, request: HttpRequest) -> QuerySet[Project]:
        return access.projects_to_manage(cast(User, request.user))


@admin.register(IngestToken)
class IngestTokenAdmin(IngestTokenAdminBase):
    """Shows a token's secret once, after creating it. Tokens can't be changed, only revoked."""

    list_display = ("name", "project", "shown", "created", "created_by", "last_used", "revoked")
    list_filter = ("project", ("revoked", admin.EmptyFieldListFilter))
    search_fields = ("name",)
    list_select_related = ("project", "created_by")
    fields = ("project", "name")
    actions = ["revoke"]

    @admin.display(description="token")
    def shown(self, token: IngestToken) -> str:
        return f"{token.prefix}…"

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestToken]:
        return super().get_queryset(request).filter(project__in=self._projects(request))

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "project":
            kwargs["queryset"] = self._projects(request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: IngestToken, form: Any, change: bool) -> None:
        made, secret = ingest_tokens.make(obj.project, obj.name, cast(User, request.user))
        obj.pk = made.pk
        self.message_user(request, f"Copy the token now. It is not shown again: {secret}", messages.WARNING)

    def has_change_permission(self, request: HttpRequest, obj: IngestToken | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: IngestToken | None = None) -> bool:
        return False

    @admin.action(description="Revoke the selected tokens", permissions=["view"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[IngestToken]) -> None:
        count = queryset.filter(project__in=self._projects(request), revoked=None).update(revoked=now())
        self.message_user(request, f"{count} revoked. Agents can no longer use them.")

    def _projects(self, request: HttpRequest) -> QuerySet[Project]:
        return access.projects_to_set_targets_in(cast(User, request.user))


@admin.register(AccessToken)
class AccessTokenAdmin(AccessTokenAdminBase):
    """Lists and revokes access tokens. Users create theirs on their own page."""

    list_display = ("name", "user", "shown", "may", "created", "last_used", "expires", "revoked")
    list_filter = (("revoked", admin.EmptyFieldListFilter),)
    search_fields = ("name", "user__username")
    list_select_related = ("user",)
    actions = ["revoke"]

    @admin.display(description="token")
    def shown(self, token: AccessToken) -> str:
        return f"{token.prefix}…"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: AccessToken | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AccessToken | None = None) -> bool:
        return False

    @admin.action(description="Revoke the selected tokens", permissions=["view"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[AccessToken]) -> None:
        count = queryset.filter(revoked=None).update(revoked=now())
        self.message_user(request, f"{count} revoked. Programs can no longer use them.")


@admin.register(Cluster)
class ClusterAdmin(DeletableAdmin, ClusterAdminBase):
    """Read-only. Deleting an ended cluster deletes its records."""

    deletable = "cluster"
    list_display = ("name", "project", "target", "started", "ended", "end_reason")
    list_filter = ("project", ("ended", admin.EmptyFieldListFilter))
    search_fields = ("name", "scheduler_id", "address")
    list_select_related = ("project", "target")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Cluster]:
        return super().get_queryset(request).filter(pk__in=access.visible_clusters(cast(User, request.user)))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Cluster | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Cluster | None = None) -> bool:
        if not super().has_delete_permission(request, obj):
            return False
        return obj is None or (not obj.is_live and access.may_manage(cast(User, request.user), obj.project))
