"""Permalinks: create, find by token, count openings, revoke."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import F
from django.http import Http404
from django.utils.timezone import now

from observatory.clusters.limits.rates import LINKS, take
from observatory.clusters.limits.room import require_room
from observatory.clusters.tokens.ingest_tokens import digest_of
from observatory.runs.models import Permalink
from observatory.runs.sharing.link_tokens import new_token, stored
from observatory.store.places.askers import asks_about

MOST_LINKS = 1_000
"""of a run"""


def make_link(link: Permalink, author: AbstractBaseUser) -> Permalink:
    """Saves a new link with a random token. Raises ValidationError if its run has MOST_LINKS."""
    require_room(link.run.permalinks.filter(revoked=None), MOST_LINKS, "This run", "links", "Revoke")
    for name, value in stored(new_token()).items():
        setattr(link, name, value)
    link.created_by_id = author.pk
    link.save()
    return link


def find_link(token: str) -> Permalink:
    """Raises Http404, the same for an unknown, revoked or expired token, and TooFast."""
    link = (
        Permalink.objects.filter(digest=digest_of(token))
        .select_related("run", "run__cluster", "run__cluster__project", "run__cluster__target")
        .first()
    )
    if link is None or not link.is_valid:
        raise Http404("This link doesn't exist or is no longer valid. Ask its author for a new one.")
    asks_about(link.run.cluster.project_id)
    take(LINKS, link.run.cluster.project)
    return link


def find_public_link(token: str) -> Permalink:
    """Like find_link, but raises Http404 for links for members, too."""
    link = find_link(token)
    if link.audience != Permalink.Audience.ANYONE:
        raise Http404("This link doesn't exist or is no longer valid. Ask its author for a new one.")
    return link


def count_opening(link: Permalink) -> None:
    Permalink.objects.filter(pk=link.pk).update(opened=F("opened") + 1, last_opened=now())


def revoke(link: Permalink) -> None:
    """Makes the link invalid for everybody."""
    Permalink.objects.filter(pk=link.pk, revoked=None).update(revoked=now())
