"""Targets: list, add, change, pause, remove."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from observatory.alerts.models import MaintenanceWindow, Rule
from observatory.alerts.scope_changes import limited_to
from observatory.clusters import access
from observatory.clusters.live.status import target_status
from observatory.clusters.models import Target
from observatory.clusters.provisioning.marks import places_of, refuse_provisioned
from observatory.collect.discovery.status import discovery_status
from observatory.collect.forms import target_form


@require_http_methods(["GET", "HEAD", "POST"])
def target_list(request: HttpRequest) -> HttpResponse:
    """The targets and discoveries; POST adds a target."""
    user = cast(User, request.user)
    settable = set(access.projects_to_set_targets_in(user).values_list("pk", flat=True))
    if request.method == "POST" and not settable:
        raise PermissionDenied("Only editors and owners of a project can change its targets.")
    form = target_form(user, sent(request))
    if request.method == "POST" and form.is_valid():
        target = form.save()
        messages.success(request, f"{target.name} is reachable and will be recorded.")
        return redirect("targets")
    targets = access.visible_targets(user)
    discoveries = access.visible_discoveries(user).annotate(target_count=Count("targets"))
    if project := request.GET.get("project", ""):
        targets = targets.filter(project__slug=project)
        discoveries = discoveries.filter(project__slug=project)
    place, place_of_list = places_of(targets), places_of(discoveries)
    context = {
        "rows": [
            (target, target_status(target), target.project_id in settable, place.get(target.pk))
            for target in targets
        ],
        "discoveries": [
            (one, discovery_status(one), one.project_id in settable, place_of_list.get(one.pk))
            for one in discoveries
        ],
        "form": form if settable else None,
    }
    return render(request, "pages/targets/targets.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, target_id: int) -> HttpResponse:
    target = _target_to_set(request, target_id)
    form = target_form(cast(User, request.user), sent(request), target)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, f"{target.name} is saved.")
        return redirect("targets")
    return render(
        request,
        "pages/targets/target.html",
        {"form": form, "target": target, "status": target_status(target)},
        status=422 if form.errors else 200,
    )


@require_POST
def switch(request: HttpRequest, target_id: int) -> HttpResponse:
    """Pauses a target, or enables it again."""
    target = _target_to_set(request, target_id)
    target.enabled = request.POST.get("enabled") == "1"
    target.save(update_fields=["enabled"])
    return redirect("targets")


@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, target_id: int) -> HttpResponse:
    """Removes a target after a confirmation. The records of its clusters stay."""
    target = _target_to_set(request, target_id)
    if request.method == "POST":
        target.delete()
        messages.success(request, f"{target.name} is removed. Its clusters stay.")
        return redirect("targets")
    context = {
        "target": target,
        "rules": limited_to(Rule, "targets", target).filter(enabled=True),
        "windows": limited_to(MaintenanceWindow, "targets", target),
    }
    return render(request, "pages/targets/remove.html", context)


def sent(request: HttpRequest) -> QueryDict | None:
    """The submitted data, which can be empty; None if no form was submitted."""
    return request.POST if request.method == "POST" else None


def _target_to_set(request: HttpRequest, target_id: int) -> Target:
    user = cast(User, request.user)
    target = access.get_target(user, target_id)
    if not access.may_set_targets(user, target.project):
        raise PermissionDenied("Only editors and owners of a project can change its targets.")
    refuse_provisioned(target)
    return target
