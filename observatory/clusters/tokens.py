"""Ingest tokens: what an agent shows to report into a project. Stored as digests."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.http import Http404
from django.utils.timezone import now

from observatory.clusters.models import IngestToken, Project

START = "obs_"
SHOWN = 8
"""characters of a token that lists show"""
LONGEST = 200
USED = timedelta(minutes=1)
"""how exactly `last_used` is kept"""


def make(project: Project, name: str, user: User | None) -> tuple[IngestToken, str]:
    """A new token and its secret, which can't be had a second time."""
    secret = START + secrets.token_urlsafe(32)
    token = IngestToken.objects.create(
        project=project, name=name, prefix=secret[:SHOWN], digest=digest_of(secret), created_by=user
    )
    return token, secret


def find(secret: str) -> IngestToken | None:
    """The token with that secret, unless it is revoked or there is none."""
    if not secret.startswith(START) or len(secret) > LONGEST:
        return None
    # what is compared is a digest of the secret: how long that takes tells nothing of it
    token = (
        IngestToken.objects.filter(digest=digest_of(secret), revoked=None).select_related("project").first()
    )
    if token is not None and (token.last_used is None or token.last_used < now() - USED):
        IngestToken.objects.filter(pk=token.pk).update(last_used=now())
    return token


def revoke(project: Project, token_id: int) -> None:
    """Raises Http404 when the project has no such token."""
    found = IngestToken.objects.filter(project=project, pk=token_id)
    if not found.exists():
        raise Http404("There is no such token.")
    found.filter(revoked=None).update(revoked=now())


def digest_of(secret: str) -> str:
    """What is stored of a secret of 256 random bits: it needs neither salt nor slowness."""
    return hashlib.sha256(secret.encode()).hexdigest()
