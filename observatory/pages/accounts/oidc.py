"""Accounts of people whom an OpenID Connect issuer signs in. Loaded only with an issuer in the settings."""

from __future__ import annotations

import logging
from typing import Any, cast

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base import AuthError
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from observatory.clusters.accounts.groups import set_memberships
from observatory.config.oidc import Oidc

BACKEND = "django.contrib.auth.backends.ModelBackend"
ISSUER = cast(Oidc, settings.OIDC)
LONGEST_GROUP = 200

log = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Begins sessions."""

    def login(self, request: HttpRequest, user: User) -> None:
        login(request, user, backend=BACKEND)

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        raise PermissionDenied("Your account is deactivated. Ask an administrator.")

    def add_message(self, *_: Any, **__: Any) -> None:
        """None: that one is signed in can be seen."""


class IssuerAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Finds or makes the account of a person, and gives it the roles of the groups."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        claims = claims_of(sociallogin)
        if not sociallogin.is_existing:
            known = _account_with(claims)
            if known is not None:
                sociallogin.connect(request, known)
            elif claims.get("email_verified") is not True or _is_taken(sociallogin.user.email):
                sociallogin.user.email, sociallogin.email_addresses = "", []
        if sociallogin.is_existing:
            _set_memberships(sociallogin.user, claims)

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        user: User = super().save_user(request, sociallogin, form)
        _set_memberships(user, claims_of(sociallogin))
        return user

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: str | None = None,
        exception: Exception | None = None,
        extra_context: Any = None,
    ) -> None:
        if error == AuthError.CANCELLED:
            text = "It was cancelled."
        elif isinstance(exception, PermissionDenied) and str(exception):
            text = str(exception)
        else:
            log.warning("signing in by OIDC failed: %s %s", error, exception)
            text = "Try again. If it persists, an administrator finds the reason in the log."
        raise ImmediateHttpResponse(failed(request, text))


def failed(request: HttpRequest, text: str, status: int = 403) -> HttpResponse:
    context = {"title": "Signing in failed", "text": text}
    return render(request, "pages/site/error.html", context, status=status)


def claims_of(sociallogin: SocialLogin) -> dict[str, Any]:
    """What the issuer says of the person: the userinfo endpoint counts before the ID token."""
    data = sociallogin.account.extra_data
    return {**data.get("id_token", {}), **data.get("userinfo", {})}


def groups_of(claims: dict[str, Any], name: str) -> list[str]:
    """The groups in a claim, which can be one text; none without the claim."""
    found = claims.get(name, [])
    values = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return [value for value in values if isinstance(value, str) and 0 < len(value) <= LONGEST_GROUP]


def _account_with(claims: dict[str, Any]) -> User | None:
    """The one active account with the e-mail address, if the issuer has verified that it is the person's."""
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str) or not email:
        return None
    found = list(User.objects.filter(email__iexact=email, is_active=True)[:2])
    return found[0] if len(found) == 1 else None


def _is_taken(email: str) -> bool:
    return bool(email) and User.objects.filter(email__iexact=email).exists()


def _set_memberships(user: User, claims: dict[str, Any]) -> None:
    if ISSUER.groups_claim:
        set_memberships(user, groups_of(claims, ISSUER.groups_claim))
