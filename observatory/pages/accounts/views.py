"""Sign-in with one-time links, and passwords."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from observatory.clusters.accounts.sign_in_links import sign_in_once, user_of_link
from observatory.clusters.accounts.sign_in_throttle import remember_device
from observatory.pages.site.own_urls import own_url

BY_LINK = "signed_in_by_link"
"""in the session: pages remind of a missing password"""


class SignIn(LoginView):
    """The sign-in page."""

    template_name = "pages/accounts/sign_in.html"
    redirect_authenticated_user = True
    extra_context = {"ways": settings.SINGLE_SIGN_ON, "has_passwords": settings.PASSWORD_SIGN_IN}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.PASSWORD_SIGN_IN:
            raise PermissionDenied("Nobody signs in with a password here.")
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        remember_device(response, form.get_user())
        return response


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def one_time_link(request: HttpRequest, number: str, token: str) -> HttpResponse:
    """Shows a button that uses the link, so that previews and link scanners don't use it.

    The button leads to the page in `next`. A password can wait; pages remind of it.
    """
    if request.method != "POST":
        user = user_of_link(number, token)
    else:
        user = sign_in_once(request, number, token)
        if user is not None:
            request.session[BY_LINK] = True
            response = redirect(_wanted_page(request))
            remember_device(response, user)
            return response
    return render(request, "pages/accounts/sign_in_once.html", {"person": user}, status=200 if user else 410)


def _wanted_page(request: HttpRequest) -> str:
    """The page in the link's `next`, if it is one of this site."""
    return own_url(request.GET.get("next", ""), otherwise=settings.LOGIN_REDIRECT_URL)


@sensitive_post_parameters()
@never_cache
def password(request: HttpRequest) -> HttpResponse:
    """Changes the user's password, or sets the first one after a one-time link."""
    if not settings.PASSWORD_SIGN_IN:
        raise PermissionDenied("Nobody signs in with a password here.")
    user = cast(User, request.user)
    form_class = PasswordChangeForm if user.has_usable_password() else SetPasswordForm
    form = form_class(user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        update_session_auth_hash(request, form.save())
        messages.success(request, "Your password is set. Earlier access tokens are revoked.")
        return redirect(settings.LOGIN_REDIRECT_URL)
    return render(
        request, "pages/accounts/password.html", {"form": form, "first": not user.has_usable_password()}
    )


@login_not_required
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Replaces the admin's sign-in page."""
    if request.user.is_authenticated:
        raise PermissionDenied("The admin is for owners of a project, and for staff.")
    return redirect_to_login(request.GET.get("next", reverse("admin:index")))
