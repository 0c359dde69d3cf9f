"""Personal access tokens: read what a user sees, change what their scopes name. Stored as digests."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils.timezone import now

from observatory.clusters.accounts.departures import is_vouched_for
from observatory.clusters.limits.room import require_room
from observatory.clusters.tokens.ingest_tokens import LONGEST, SHOWN, USED, digest_of
from observatory.clusters.tokens.models import AccessToken

START = "obp_"
MOST_TOKENS = 500
"""of a user"""


def make(user: User, name: str, days: int | None, scopes: Iterable[str] = ()) -> tuple[AccessToken, str]:
    """Creates a token; returns it with its secret. `days` until it expires; None for never.

    Raises ValueError for a scope that there is not, and ValidationError if the user has MOST_TOKENS.
    """
    chosen = set(map(AccessToken.Scope, scopes))
    require_room(user.access_tokens.filter(revoked=None), MOST_TOKENS, "Your account", "tokens", "Revoke")
    secret = START + secrets.token_urlsafe(32)
    token = AccessToken.objects.create(
        user=user,
        name=name,
        scopes=[scope.value for scope in AccessToken.Scope if scope in chosen],
        prefix=secret[:SHOWN],
        digest=digest_of(secret),
        expires=None if days is None else now() + timedelta(days=days),
    )
    return token, secret


def find(secret: str) -> AccessToken | None:
    """A valid token with its user; None for unknown, revoked and expired ones, inactive users and those for
    whom no one vouches (accounts/departures.py)."""
    if not secret.startswith(START) or len(secret) > LONGEST:
        return None
    token = _valid().filter(digest=digest_of(secret)).select_related("user").first()
    if token is None:
        return None
    if token.last_used is None or token.last_used < now() - USED:
        with suppress(DatabaseError):  # a read-only database
            AccessToken.objects.filter(pk=token.pk).update(last_used=now())
    return token


def is_valid(token: AccessToken) -> bool:
    """Whether a token that was found earlier is valid still."""
    return _valid().filter(pk=token.pk).exists()


def _valid() -> QuerySet[AccessToken]:
    is_current = Q(expires=None) | Q(expires__gt=now())
    return AccessToken.objects.filter(
        is_current, is_vouched_for("user__"), revoked=None, user__is_active=True
    )


def revoke(user: User, token_id: int) -> None:
    """Raises Http404 if `user` doesn't have this token."""
    found = AccessToken.objects.filter(user=user, pk=token_id)
    if not found.exists():
        raise Http404("This token doesn't exist.")
    found.filter(revoked=None).update(revoked=now())
