"""Invitations to the project Alpha, and their links."""

from __future__ import annotations

from typing import Any

from observatory.clusters.accounts import invitations
from observatory.clusters.accounts.models import Invitation, Membership
from tests.support.projects import World

PASSWORD = "correct horse battery"
NEW = {"username": "newcomer", "password1": PASSWORD, "password2": PASSWORD}


def invite(world: World, role: str = "viewer", by: str = "owner", **fields: Any) -> str:
    """The path of the link of a new invitation to Alpha."""
    invitation = Invitation(role=role, **fields)
    return f"/join/{invitations.make(invitation, world.alpha, world.people[by], days=7)}/"


def role_of(name: str) -> str | None:
    found = Membership.objects.filter(project__slug="alpha", user__username=name).first()
    return found.role if found else None
