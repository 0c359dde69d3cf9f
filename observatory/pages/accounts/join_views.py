"""Joining a project by an invitation, with the account that one has or with a new one."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from observatory.clusters.accounts import invitations
from observatory.clusters.accounts.invitations import InvalidInvitationError
from observatory.clusters.accounts.sign_in_throttle import remember_device
from observatory.clusters.models import Project
from observatory.pages.accounts.forms import AccountForm

BACKEND = "django.contrib.auth.backends.ModelBackend"


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join_page(request: HttpRequest, token: str) -> HttpResponse:
    """Shows the button that joins, or the ways to sign in. POST joins.

    The project is named to who is signed in only: chats and mail programs preview links.
    """
    try:
        if request.method == "POST" and request.user.is_authenticated:
            return _joined(request, invitations.join(token, request.user))
        invitation = invitations.find(token)
    except InvalidInvitationError:
        return _invalid(request)
    if not request.user.is_authenticated:
        return _page(request, token=token, form=AccountForm())
    if not invitations.would_change(invitation, request.user):
        return _joined(request, invitation.project)
    return _page(request, token=token, invitation=invitation)


@sensitive_post_parameters()
@login_not_required
@never_cache
@require_POST
def join_with_account(request: HttpRequest, token: str) -> HttpResponse:
    """Makes an account, which joins and is signed in."""
    if not settings.INVITED_MAKE_ACCOUNTS:
        raise PermissionDenied("Nobody makes an account here: sign in, then open the invitation again.")
    if request.user.is_authenticated:
        return redirect("join", token)
    form = AccountForm(request.POST)
    try:
        with transaction.atomic():
            invitations.find_to_use(token)
            if not form.is_valid():
                return _page(request, status=422, token=token, form=form)
            user = form.save()
            project = invitations.join(token, user)
    except InvalidInvitationError:
        return _invalid(request)
    except IntegrityError:  # somebody took the name just now
        form.add_error("username", "A user with that username already exists.")
        return _page(request, status=422, token=token, form=form)
    login(request, user, backend=BACKEND)
    response = _joined(request, project)
    remember_device(response, user)
    return response


def _joined(request: HttpRequest, project: Project) -> HttpResponse:
    messages.success(request, f"You are a member of {project}.")
    return redirect("project", project.slug)


def _invalid(request: HttpRequest) -> HttpResponse:
    return _page(request, status=410)


def _page(request: HttpRequest, status: int = 200, **context: Any) -> HttpResponse:
    context["makes_accounts"] = settings.INVITED_MAKE_ACCOUNTS
    response = render(request, "pages/accounts/join.html", context, status=status)
    response["X-Robots-Tag"] = "noindex"
    return response
