"""Invitations to a project: create and revoke."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from observatory.clusters.accounts import invitations
from observatory.clusters.accounts.invitation_form import InvitationForm
from observatory.pages.projects.views import managed_project, show_project


@require_POST
@never_cache
def make_invitation(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the project's page with the link, whose token isn't stored."""
    project = managed_project(request, slug)
    form = InvitationForm(project, request.POST)
    if not form.is_valid():
        return show_project(request, project, invitation_form=form)
    invitation, token = form.make(cast(User, request.user))
    link = request.build_absolute_uri(reverse("join", args=[token]))
    return show_project(request, project, invited=(invitation, link))


@require_POST
def revoke_invitation(request: HttpRequest, slug: str, invitation_id: int) -> HttpResponse:
    invitations.revoke(managed_project(request, slug), invitation_id)
    messages.success(request, "The invitation is revoked. Nobody joins with it any more.")
    return redirect(f"{reverse('project', args=[slug])}#invitations")
