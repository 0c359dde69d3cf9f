"""Ingest tokens: let agents send records to a project. Stored as digests."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import DatabaseError
from django.http import Http404
from django.utils.timezone import now

from observatory.clusters.models import Project
from observatory.clusters.tokens.models import IngestToken
from observatory.store.compiled_lookup import CompiledLookup

START = "obs_"
SHOWN = 8
"""first characters of a token, shown in lists"""
LONGEST = 200
USED = timedelta(minutes=1)
"""resolution of `last_used`"""

BY_DIGEST = CompiledLookup(IngestToken, {"digest": "<digest>"}, "project", revoked=None)


def make(project: Project, name: str, user: User | None) -> tuple[IngestToken, str]:
    """Creates a token; returns it with its secret, which isn't stored.

    Raises ValidationError if the project has MOST_INGEST_TOKENS.
    """
    secret = START + secrets.token_urlsafe(32)
    token = IngestToken(
        project=project, name=name, prefix=secret[:SHOWN], digest=digest_of(secret), created_by=user
    )
    token.clean()
    token.save()
    return token, secret


def find(secret: str) -> IngestToken | None:
    """The valid token with this secret; None for unknown and revoked ones."""
    if not secret.startswith(START) or len(secret) > LONGEST:
        return None
    # compares digests: the timing says nothing about the secret
    token = BY_DIGEST.find(digest_of(secret))
    if token is not None and (token.last_used is None or token.last_used < now() - USED):
        with suppress(DatabaseError):  # a read-only database
            IngestToken.objects.filter(pk=token.pk).update(last_used=now())
    return token


def find_revoked(secret: str) -> IngestToken | None:
    """The revoked token with this secret."""
    if not secret.startswith(START) or len(secret) > LONGEST:
        return None
    return IngestToken.objects.filter(digest=digest_of(secret), revoked__isnull=False).first()


def has_token(project: Project, digest: str) -> bool:
    """Whether a token of the project, even a revoked one, has a digest that begins with `digest`."""
    return IngestToken.objects.filter(project=project, digest__startswith=digest).exists()


def revoke(project: Project, token_id: int) -> None:
    """Raises Http404 if the project doesn't have this token."""
    found = IngestToken.objects.filter(project=project, pk=token_id)
    if not found.exists():
        raise Http404("This token doesn't exist.")
    found.filter(revoked=None).update(revoked=now())


def digest_of(secret: str) -> str:
    """SHA-256 of a secret. With 256 random bits it needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
