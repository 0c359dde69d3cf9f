"""Accounts of people whom an OpenID Connect issuer or a SAML identity provider signs in."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base import AuthError
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from observatory.clusters.accounts.departures import bound_session
from observatory.clusters.accounts.groups import set_memberships
from observatory.pages.accounts.single_sign_on.identity import Identity
from observatory.pages.accounts.single_sign_on.oidc import claims
from observatory.pages.accounts.single_sign_on.refusal import LOOK_IN_THE_LOG, failed
from observatory.pages.accounts.single_sign_on.saml import attributes

BACKEND = "django.contrib.auth.backends.ModelBackend"

log = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Begins sessions."""

    def login(self, request: HttpRequest, user: User) -> None:
        login(request, user, backend=BACKEND)
        bound_session(request)

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        raise PermissionDenied("Your account is deactivated. Ask an administrator.")

    def add_message(self, *_: Any, **__: Any) -> None:
        """None: that one is signed in can be seen."""


class SignInAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Finds or makes the account of a person, and gives it the roles of the groups."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        person = identity_of(sociallogin)
        if not sociallogin.is_existing:
            known = _account_with(person.verified_email)
            if known is not None:
                sociallogin.connect(request, known)
            elif not person.verified_email or _is_taken(sociallogin.user.email):
                sociallogin.user.email, sociallogin.email_addresses = "", []
        if sociallogin.is_existing:
            _give_roles(sociallogin.user, person)

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        user: User = super().save_user(request, sociallogin, form)
        _give_roles(user, identity_of(sociallogin))
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
            log.warning("signing in by %s failed: %s %s", provider, error, exception)
            text = LOOK_IN_THE_LOG
        raise ImmediateHttpResponse(failed(request, text))


def identity_of(sociallogin: SocialLogin) -> Identity:
    """The person of a sign-in by the issuer or the identity provider of the settings."""
    provider, data = sociallogin.account.provider, sociallogin.account.extra_data
    if settings.SAML and provider == settings.SAML.provider:
        return attributes.identity_of(settings.SAML, data)
    assert settings.OIDC is not None
    return claims.identity_of(settings.OIDC, data)


def _account_with(verified_email: str) -> User | None:
    """The one active account with the e-mail address."""
    if not verified_email:
        return None
    found = list(User.objects.filter(email__iexact=verified_email, is_active=True)[:2])
    return found[0] if len(found) == 1 else None


def _is_taken(email: str) -> bool:
    """Whether an account has it, or had it: allauth, which remembers, would ask the person for another."""
    if not email:
        return False
    is_of_user = User.objects.filter(email__iexact=email).exists()
    return is_of_user or EmailAddress.objects.filter(email__iexact=email).exists()


def _give_roles(user: User, person: Identity) -> None:
    if person.groups is not None:
        set_memberships(user, person.groups)
