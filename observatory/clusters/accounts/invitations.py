"""Invitations: links by which people join a project. Their tokens are stored as digests."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet
from django.http import Http404
from django.utils.timezone import now

from observatory.clusters import access
from observatory.clusters.accounts.groups import ROLES
from observatory.clusters.accounts.models import Invitation, Membership
from observatory.clusters.models import Project
from observatory.clusters.tokens.ingest_tokens import LONGEST, digest_of

START = "obi_"
DAYS = 7
LONGEST_DAYS = 90
MOST_OPEN = 100
"""of one project"""


class InvalidInvitationError(Exception):
    """The link is unknown, used, expired or revoked, or its maker no longer manages the project."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An open invitation, and whether it works: not while its maker doesn't manage the project."""

    invitation: Invitation
    works: bool


def make(invitation: Invitation, project: Project, user: User, days: int) -> str:
    """Saves a new invitation to `project` by `user`, who manages it; returns the token, which isn't stored.

    Owners have the highest role, so they may give each.
    """
    token = START + secrets.token_urlsafe(32)
    invitation.project, invitation.created_by = project, user
    invitation.digest, invitation.expires = digest_of(token), now() + timedelta(days=days)
    invitation.save()
    return token


def open_invitations(project: Project) -> QuerySet[Invitation]:
    """Those that are not used up, expired or revoked."""
    return Invitation.objects.filter(
        project=project, revoked=None, used__lt=F("uses"), expires__gt=now()
    ).select_related("created_by")


def listed(project: Project) -> list[Listed]:
    """The open invitations, newest first."""
    found = list(open_invitations(project))
    makers = {invitation.created_by for invitation in found}
    managing = {maker.pk for maker in makers if access.may_manage(maker, project)}
    return [Listed(invitation, invitation.created_by_id in managing) for invitation in found]


def revoke(project: Project, invitation_id: int) -> None:
    """Raises Http404 if the project doesn't have this invitation."""
    found = Invitation.objects.filter(project=project, pk=invitation_id)
    if not found.exists():
        raise Http404("This invitation doesn't exist.")
    found.filter(revoked=None).update(revoked=now())


def find(token: str, invitations: QuerySet[Invitation] | None = None) -> Invitation:
    """The working invitation with this token, out of `invitations`. Raises InvalidInvitationError."""
    if not token.startswith(START) or len(token) > LONGEST:
        raise InvalidInvitationError
    among = Invitation.objects.all() if invitations is None else invitations
    found = among.filter(digest=digest_of(token)).select_related("project", "created_by").first()
    if found is None or not found.is_open or not access.may_manage(found.created_by, found.project):
        raise InvalidInvitationError
    return found


def find_to_use(token: str) -> Invitation:
    """As `find`, in a transaction: of two people who use the invitation at once, one waits for the other."""
    return find(token, Invitation.objects.select_for_update(of=("self",)))


def would_change(invitation: Invitation, user: User) -> bool:
    """Whether the invitation gives `user` a higher role than the present one, or the first."""
    membership = Membership.objects.filter(project=invitation.project, user=user).first()
    return membership is None or _is_lower(membership.role, invitation.role)


@transaction.atomic
def join(token: str, user: User) -> Project:
    """Makes `user` a member, or raises the role of a member, and counts the use.

    A member with this role or a higher one stays as before, which uses nothing. Raises
    InvalidInvitationError.
    """
    User.objects.select_for_update().get(pk=user.pk)  # who uses two invitations at once joins once
    invitation = find_to_use(token)
    members = Membership.objects.select_for_update()
    membership = members.filter(project=invitation.project, user=user).first()
    if membership is None:
        Membership.objects.create(project=invitation.project, user=user, role=invitation.role)
    elif _is_lower(membership.role, invitation.role):
        membership.role, membership.by_groups = invitation.role, False
        membership.save(update_fields=["role", "by_groups"])
    else:
        return invitation.project
    Invitation.objects.filter(pk=invitation.pk).update(used=F("used") + 1)
    return invitation.project


def _is_lower(role: str, other: str) -> bool:
    return ROLES.index(Membership.Role(role)) < ROLES.index(Membership.Role(other))
