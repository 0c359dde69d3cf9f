"""The list of projects, and a project's settings, members and ingest tokens."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from observatory.clusters import access
from observatory.clusters.accounts import invitations
from observatory.clusters.accounts.invitation_form import InvitationForm
from observatory.clusters.accounts.models import Invitation, Membership
from observatory.clusters.limits.rates import statuses
from observatory.clusters.live.agents import live_agents
from observatory.clusters.models import Project
from observatory.clusters.provisioning.marks import mark_of, refusal, refuse_provisioned
from observatory.clusters.tokens import ingest_refusals
from observatory.clusters.tokens.models import IngestToken
from observatory.pages.projects.forms import IngestTokenForm, MemberForm, ProjectForm
from observatory.runs.retention.quotas import quota_sentence
from observatory.runs.retention.shorter_retention import shorter_retention


@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    projects = access.visible_projects(cast(User, request.user)).annotate(
        member_count=Count("memberships", distinct=True),
        target_count=Count("targets", distinct=True),
        cluster_count=Count("clusters", distinct=True),
    )
    return render(request, "pages/projects/projects.html", {"projects": projects})


@require_http_methods(["GET", "HEAD", "POST"])
def project_page(request: HttpRequest, slug: str) -> HttpResponse:
    """A project; POST by an owner changes its settings."""
    project = access.get_project(cast(User, request.user), slug)
    if request.method != "POST":
        return show_project(request, project)
    managed = managed_project(request, slug)
    refuse_provisioned(managed)
    form = ProjectForm(request.POST, instance=managed)
    if not form.is_valid():
        return show_project(request, project, form=form)
    form.save()
    messages.success(request, "The project is saved.")
    return redirect("project", slug)


@require_POST
def set_retention_back(request: HttpRequest, slug: str) -> HttpResponse:
    """Cancels a shorter retention that doesn't hold yet."""
    project = managed_project(request, slug)
    if project.is_shortened and project.longer_retention_days:
        project.retention_days = project.longer_retention_days
        project.save(update_fields=["retention_days"])
        messages.success(request, "The retention is set back. Nothing is deleted.")
    return redirect("project", slug)


@require_POST
def add_member(request: HttpRequest, slug: str) -> HttpResponse:
    project = managed_project(request, slug)
    form = MemberForm(project, request.POST)
    if not form.is_valid():
        return show_project(request, project, member_form=form)
    form.save()
    messages.success(request, f"{form.instance.user.get_username()} is now a member.")
    return redirect("project", slug)


@require_POST
@transaction.atomic
def change_member(request: HttpRequest, slug: str, membership_id: int) -> HttpResponse:
    """Sets a member's role, or removes the member when `role` is empty."""
    project = managed_project(request, slug)
    # locked: two owners can't remove each other at the same time
    members = list(project.memberships.select_for_update().order_by("pk"))
    membership = get_object_or_404(Membership, project=project, pk=membership_id)
    role = request.POST.get("role", "")
    owners = [member for member in members if member.role == Membership.Role.OWNER]
    if owners == [membership] and role != Membership.Role.OWNER:
        messages.error(request, "A project needs an owner. Make another member an owner first.")
    elif not role:
        membership.delete()
    elif role in Membership.Role.values:
        membership.role, membership.by_groups = role, False  # what is set by hand stays
        membership.save()
    return redirect("project", slug)


def managed_project(request: HttpRequest, slug: str) -> Project:
    """Raises Http404 as access.get_project does, and PermissionDenied for who doesn't manage the project."""
    project = access.get_project(cast(User, request.user), slug)
    if not access.may_manage(cast(User, request.user), project):
        raise PermissionDenied("Only owners of a project can change it.")
    return project


def show_project(
    request: HttpRequest,
    project: Project,
    form: ProjectForm | None = None,
    member_form: MemberForm | None = None,
    token_form: IngestTokenForm | None = None,
    made: tuple[IngestToken, str] | None = None,
    invitation_form: InvitationForm | None = None,
    invited: tuple[Invitation, str] | None = None,
) -> HttpResponse:
    """The page of a project, with an invalid form, or with a new token or invitation and its secret."""
    is_invalid = any(given is not None for given in (form, member_form, token_form, invitation_form))
    user = cast(User, request.user)
    may_manage = access.may_manage(user, project)
    stored = Project.objects.get(pk=project.pk)
    mark = mark_of(project)
    context = {
        "project": stored,
        "current_project": project,
        "form": form or ProjectForm(instance=project),
        "provisioned": mark and refusal(mark),
        "shorter": shorter_retention(stored),
        "quota": quota_sentence(stored),
        "rates": [status.sentence for status in statuses(stored)],
        "member_form": member_form or MemberForm(project),
        "members": project.memberships.select_related("user").order_by("user__username"),
        "roles": Membership.Role.choices,
        "may_manage": may_manage,
        "invitations": invitations.listed(project) if may_manage else [],
        "invitation_form": invitation_form or InvitationForm(project),
        "invited": invited,
        "makes_accounts": settings.INVITED_MAKE_ACCOUNTS,
        "may_make_tokens": access.may_set_targets(user, project),
        "tokens": IngestToken.objects.filter(project=project).select_related("created_by"),
        "token_form": token_form or IngestTokenForm(),
        "made": made,
        "agents": live_agents(project),
        "refusals": ingest_refusals.current(project),
        "origin": request.build_absolute_uri(reverse("home")).rstrip("/"),
    }
    return render(request, "pages/projects/project.html", context, status=422 if is_invalid else 200)
