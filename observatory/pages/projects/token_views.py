"""Ingest tokens of a project: create and revoke."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from observatory.clusters import access
from observatory.clusters.models import Project
from observatory.clusters.tokens import ingest_tokens
from observatory.pages.projects.forms import IngestTokenForm
from observatory.pages.projects.views import show_project


@require_POST
@never_cache
def make_token(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the project's page with the secret, which isn't stored."""
    project = _settable(request, slug)
    form = IngestTokenForm(request.POST)
    if not form.is_valid():
        return show_project(request, project, token_form=form)
    try:
        made = ingest_tokens.make(project, form.cleaned_data["name"], cast(User, request.user))
    except ValidationError as error:
        form.add_error(None, error)
        return show_project(request, project, token_form=form)
    return show_project(request, project, made=made)


@require_POST
def revoke_token(request: HttpRequest, slug: str, token_id: int) -> HttpResponse:
    ingest_tokens.revoke(_settable(request, slug), token_id)
    messages.success(request, "The token is revoked. Agents can no longer use it.")
    return redirect("project", slug)


def _settable(request: HttpRequest, slug: str) -> Project:
    project = access.get_project(cast(User, request.user), slug)
    if not access.may_set_targets(cast(User, request.user), project):
        raise PermissionDenied("Only editors and owners of a project can create and revoke its tokens.")
    return project
