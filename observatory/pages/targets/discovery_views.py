"""Discoveries: add, change, pause, remove. The list of targets lists them."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from observatory.clusters import access
from observatory.clusters.models import Discovery
from observatory.clusters.provisioning.marks import refuse_provisioned
from observatory.collect.discovery.form import discovery_form
from observatory.collect.discovery.status import discovery_status
from observatory.pages.targets.views import sent

REFUSAL = "Only editors and owners of a project can change its discoveries."


@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    if not access.projects_to_set_targets_in(user).exists():
        raise PermissionDenied(REFUSAL)
    form = discovery_form(user, sent(request))
    if request.method == "POST" and form.is_valid():
        discovery = form.save()
        messages.success(request, f"{discovery.name} is saved. Its list is requested within some seconds.")
        return redirect("targets")
    return render(request, "pages/targets/discovery.html", {"form": form}, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, discovery_id: int) -> HttpResponse:
    discovery = _discovery_to_set(request, discovery_id)
    status = discovery_status(discovery)
    form = discovery_form(cast(User, request.user), sent(request), discovery)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, f"{discovery.name} is saved.")
        return redirect("targets")
    context = {"form": form, "discovery": discovery, "status": status}
    return render(request, "pages/targets/discovery.html", context, status=422 if form.errors else 200)


@require_POST
def switch(request: HttpRequest, discovery_id: int) -> HttpResponse:
    """Pauses a discovery, or enables it again. Its targets stay as they are."""
    discovery = _discovery_to_set(request, discovery_id)
    discovery.enabled = request.POST.get("enabled") == "1"
    discovery.save(update_fields=["enabled"])
    return redirect("targets")


@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, discovery_id: int) -> HttpResponse:
    """Removes a discovery and its targets after a confirmation. The records of their clusters stay."""
    discovery = _discovery_to_set(request, discovery_id)
    if request.method == "POST":
        discovery.delete()
        messages.success(request, f"{discovery.name} and its targets are removed. Their clusters stay.")
        return redirect("targets")
    context = {"discovery": discovery, "target_count": discovery.targets.count()}
    return render(request, "pages/targets/remove_discovery.html", context)


def _discovery_to_set(request: HttpRequest, discovery_id: int) -> Discovery:
    user = cast(User, request.user)
    discovery = access.get_discovery(user, discovery_id)
    if not access.may_set_targets(user, discovery.project):
        raise PermissionDenied(REFUSAL)
    refuse_provisioned(discovery)
    return discovery
