"""Personal access tokens: give programs a user's read access. Stored as digests."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import Http404
from django.utils.timezone import now

from observatory.clusters.models import AccessToken
from observatory.clusters.tokens.ingest_tokens import LONGEST, SHOWN, USED, digest_of

START = "obp_"


def make(user: User, name: str, days: int | None) -> tuple[AccessToken, str]:
    """Creates a token; returns it with its secret. `days` until it expires; None for never."""
    secret = START + secrets.token_urlsafe(32)
    token = AccessToken.objects.create(
        user=user,
        name=name,
        prefix=secret[:SHOWN],
        digest=digest_of(secret),
        expires=None if days is None else now() + timedelta(days=days),
    )
    return token, secret


def user_of(secret: str) -> User | None:
    """The user of a valid token; None for unknown, revoked and expired ones and inactive users."""
    if not secret.startswith(START) or len(secret) > LONGEST:
        return None
    valid = Q(expires=None) | Q(expires__gt=now())
    token = (
        AccessToken.objects.filter(valid, digest=digest_of(secret), revoked=None, user__is_active=True)
        .select_related("user")
        .first()
    )
    if token is None:
        return None
    if token.last_used is None or token.last_used < now() - USED:
        AccessToken.objects.filter(pk=token.pk).update(last_used=now())
    return token.user


def revoke(user: User, token_id: int) -> None:
    """Raises Http404 if `user` doesn't have this token."""
    found = AccessToken.objects.filter(user=user, pk=token_id)
    if not found.exists():
        raise Http404("This token doesn't exist.")
    found.filter(revoked=None).update(revoked=now())
