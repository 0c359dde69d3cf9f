"""The admin of rules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils.timezone import now
from django.views.decorators.http import require_POST
from unfold.admin import StackedInline
from unfold.decorators import display

from observatory.alerts.admin import rule_views
from observatory.alerts.admin.project_scope import ProjectScopedAdmin
from observatory.alerts.admin.prometheus import PrometheusMixin
from observatory.alerts.admin.rule_form import (
    ConditionForm,
    ConditionFormSet,
    EvaluationForm,
    RuleForm,
)
from observatory.alerts.models import Condition, Rule, Severity
from observatory.alerts.rules import ready_made
from observatory.alerts.rules.scope import is_on_observatory
from observatory.alerts.rules.validation import MAX_CONDITIONS
from observatory.clusters.deletion.admin import DeletableAdmin
from observatory.clusters.provisioning.admin import ProvisionedAdmin

EVALUATED_FIELDS = {"enabled", *EvaluationForm.Meta.fields}
RECENT = timedelta(days=7)


class ConditionInline(StackedInline):
    model = Condition
    form = ConditionForm
    formset = ConditionFormSet
    template = "admin/alerts/rule/conditions.html"
    max_num = MAX_CONDITIONS
    extra = MAX_CONDITIONS
    """the page has the maximum number of conditions; its script hides empty ones"""

    def get_formset(self, request: HttpRequest, obj: Rule | None = None, **kwargs: Any) -> Any:
        formset = super().get_formset(request, obj, **kwargs)  # a class made for this request
        formset.user = request.user
        return formset


@admin.register(Rule)
class RuleAdmin(ProvisionedAdmin, DeletableAdmin, PrometheusMixin, ProjectScopedAdmin):
    """Superusers manage all rules, others the rules whose projects they manage."""

    deletable = "rule"
    is_tried_when_provisioned = True
    form = RuleForm
    inlines = [ConditionInline]
    change_form_template = "admin/alerts/rule/change_form.html"
    fieldsets = (
        (None, {"fields": ("name", ("severity", "enabled"))}),
        ("Where", {"fields": ("projects", "targets", "cluster_names")}),
        ("Texts", {"fields": ("description", "advice", "message")}),
        ("For how long", {"fields": ("hold_seconds", "no_data")}),
    )
    list_display = (
        "name_and_origin",
        "severity_label",
        "enabled",
        "scope",
        "firing",
        "recently_fired",
        "problem",
    )
    list_editable = ("enabled",)
    list_filter = ("severity", "enabled", ("projects", admin.RelatedOnlyFieldListFilter))
    search_fields = ("name", "description", "conditions__metric", "conditions__event")
    list_per_page = 100

    @display(description="name", ordering="name", header=True)
    def name_and_origin(self, rule: Rule) -> tuple[str, str]:
        return rule.name, "ready-made" if rule.key else ""

    @display(
        description="severity",
        ordering="severity",
        label={Severity.INFO: "info", Severity.WARNING: "warning", Severity.CRITICAL: "danger"},
    )
    def severity_label(self, rule: Rule) -> str:
        return rule.severity

    @display(description="where")
    def scope(self, rule: Rule) -> str:
        if is_on_observatory(rule.conditions.all()):
            return "Observatory itself"
        named = [str(item) for item in (*rule.projects.all(), *rule.targets.all())]
        return ", ".join(named + rule.cluster_names.split()) or "everywhere"

    @display(description="firing now", ordering="firing_count")
    def firing(self, rule: Any) -> int:
        return int(rule.firing_count)

    @display(description="fired in 7 days", ordering="fired_count")
    def recently_fired(self, rule: Any) -> int:
        return int(rule.fired_count)

    @display(description="error")
    def problem(self, rule: Rule) -> str:
        return rule.error

    def get_queryset(self, request: HttpRequest) -> QuerySet[Rule]:
        rules: QuerySet[Rule] = (
            super().get_queryset(request).prefetch_related("projects", "targets", "conditions")
        )
        return rules.annotate(
            firing_count=Count("alerts", filter=Q(alerts__state="firing"), distinct=True),
            fired_count=Count("alerts", filter=Q(alerts__fired__gte=now() - RECENT), distinct=True),
        )

    def save_model(self, request: HttpRequest, obj: Rule, form: Any, change: bool) -> None:
        if EVALUATED_FIELDS & set(form.changed_data):
            obj.restart_evaluation()
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if any(formset.has_changed() for formset in formsets):
            form.instance.restart_evaluation()
            form.instance.save(update_fields=["changed", "error", "error_time"])
        for warning in rule_views.warnings_of_rule(cast(User, request.user), form.instance):
            if not warning.is_note:
                self.message_user(request, warning.message, messages.WARNING)

    def render_change_form(self, request: HttpRequest, context: Any, *arguments: Any, **options: Any) -> Any:
        rule = context["original"]
        if rule is not None:
            context["rule_warnings"] = rule_views.warnings_of_rule(cast(User, request.user), rule)
        return super().render_change_form(request, context, *arguments, **options)

    def get_urls(self) -> list[URLPattern]:
        views = {
            "metrics/": (rule_views.metrics, "metrics"),
            "recent/": (rule_views.recent_values, "recent"),
            "places/": (rule_views.places, "places"),
            "back-test/": (rule_views.back_test_rule, "back_test"),
            "back-test-progress/": (rule_views.back_test_progress, "back_test_progress"),
            "<int:object_id>/reset/": (self.reset, "reset"),
        }
        own = [
            path(
                route,
                self.admin_site.admin_view(self._require_view_permission(view)),
                name=f"alerts_rule_{name}",
            )
            for route, (view, name) in views.items()
        ]
        return own + super().get_urls()

    def _require_view_permission(self, view: Any) -> Any:
        def checked(request: HttpRequest, **arguments: Any) -> HttpResponse:
            if not self.has_view_or_change_permission(request):
                raise PermissionDenied
            return cast(HttpResponse, view(request, **arguments))

        return checked

    def reset(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Resets a ready-made rule to its defaults."""
        return require_POST(self._reset)(request, object_id)

    def _reset(self, request: HttpRequest, object_id: int) -> HttpResponse:
        rule = get_object_or_404(self.get_queryset(request).exclude(key=""), pk=object_id)
        if not self.has_change_permission(request, rule):
            raise PermissionDenied
        ready_made.reset(rule)
        self.log_change(request, rule, "Reset to its defaults.")
        self.message_user(request, f"“{rule}” was reset to its defaults.", messages.SUCCESS)
        return redirect("admin:alerts_rule_change", object_id)
