"""Permalinks: made, found by their token, counted, revoked."""

from __future__ import annotations

import secrets

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import F
from django.http import Http404
from django.utils.timezone import now

from observatory.runs.models import Permalink

TOKEN_BYTES = 24
"""192 random bits"""
LONGEST_TOKEN = 64


def make_link(link: Permalink, author: AbstractBaseUser) -> Permalink:
    """Saves a new link under a token of its own."""
    link.token = secrets.token_urlsafe(TOKEN_BYTES)
    link.created_by_id = author.pk
    link.save()
    return link


def find_link(token: str) -> Permalink:
    """Raises Http404 for a token that never was, was revoked or has expired alike."""
    link = (
        Permalink.objects.filter(token=token[:LONGEST_TOKEN])
        .select_related("run", "run__cluster", "run__cluster__project", "run__cluster__target")
        .first()
    )
    if link is None or not link.is_valid:
        raise Http404("There is no such link, or it isn't valid any more.")
    return link


def find_public_link(token: str) -> Permalink:
    """Raises Http404 as find_link does, and for a link that is for members."""
    link = find_link(token)
    if link.audience != Permalink.Audience.ANYONE:
        raise Http404("There is no such link, or it isn't valid any more.")
    return link


def count_opening(link: Permalink) -> None:
    Permalink.objects.filter(pk=link.pk).update(opened=F("opened") + 1, last_opened=now())


def revoke(link: Permalink) -> None:
    """From now on it opens nothing, for anybody."""
    Permalink.objects.filter(pk=link.pk, revoked=None).update(revoked=now())
