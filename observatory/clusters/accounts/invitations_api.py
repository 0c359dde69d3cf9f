"""The REST API of invitations to projects, for who manages their members."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.urls import reverse
from ninja import Field, Router, Schema, Status

from observatory.clusters import access
from observatory.clusters.accounts import invitations
from observatory.clusters.accounts.invitation_form import InvitationForm
from observatory.clusters.accounts.models import Invitation
from observatory.clusters.models import Project
from observatory.clusters.refusal import Refusal, refused
from observatory.clusters.tokens.api_sign_in import Scope, SessionOrToken

CHANGES = SessionOrToken(Scope.MEMBERS)
router = Router(tags=["invitations"])


class InvitationIn(Schema):
    role: Literal["viewer", "editor", "owner"] = "viewer"
    note: Annotated[str, Field(max_length=200)] = ""
    """whom it is for"""
    days: int = invitations.DAYS
    """until it expires"""
    uses: int = 1
    """how many people can join with it"""


class InvitationOut(Schema):
    """Times are seconds since the epoch."""

    id: int
    role: str
    note: str
    created: float
    created_by: str
    expires: float
    uses: int
    used: int
    works: bool
    """false while who made it does not manage the project"""


class NewInvitation(InvitationOut):
    url: str
    """the link, which is not shown again"""


@router.get("/projects/{slug}/invitations", response=list[InvitationOut])
def list_invitations(request: HttpRequest, slug: str) -> list[dict[str, Any]]:
    """The open invitations of a project that you manage, newest first."""
    return [_invitation(item.invitation, item.works) for item in invitations.listed(_managed(request, slug))]


@router.post("/projects/{slug}/invitations", response={201: NewInvitation, 422: Refusal}, auth=CHANGES)
def invite(request: HttpRequest, slug: str, new: InvitationIn) -> Any:
    """Makes a link by which people join a project that you manage."""
    form = InvitationForm(_managed(request, slug), new.dict())
    if not form.is_valid():
        return refused(form)
    made, token = form.make(cast(User, request.user))
    url = request.build_absolute_uri(reverse("join", args=[token]))
    return Status(201, {**_invitation(made, works=True), "url": url})


@router.delete("/projects/{slug}/invitations/{invitation_id}", response={204: None}, auth=CHANGES)
def revoke_invitation(request: HttpRequest, slug: str, invitation_id: int) -> Any:
    """Revokes an invitation. Who joined with it stays a member."""
    invitations.revoke(_managed(request, slug), invitation_id)
    return Status(204, None)


def _managed(request: HttpRequest, slug: str) -> Project:
    user = cast(User, request.user)
    project = access.get_project(user, slug)
    if not access.may_manage(user, project):
        raise PermissionDenied("Only owners of a project can invite people and see invitations.")
    return project


def _invitation(invitation: Invitation, works: bool) -> dict[str, Any]:
    return {
        "id": invitation.pk,
        "role": invitation.role,
        "note": invitation.note,
        "created": invitation.created.timestamp(),
        "created_by": invitation.created_by.get_username(),
        "expires": invitation.expires.timestamp(),
        "uses": invitation.uses,
        "used": invitation.used,
        "works": works,
    }
