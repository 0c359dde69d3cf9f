"""Memberships that groups of a proxy or single sign-on give, set at each sign-in."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction

from observatory.clusters.accounts.models import GroupRole, Membership

MOST_GROUPS = 1000
"""groups of one person; further ones give nothing"""
ROLES = list(Membership.Role)
"""each may more than the one before"""


@transaction.atomic
def set_memberships(user: User, groups: Iterable[str]) -> None:
    """Gives `user` the roles of these groups, and takes those that groups gave before and no longer give.

    Of several roles in a project the highest counts. Memberships made by hand stay as they are.
    """
    User.objects.select_for_update().get(pk=user.pk)  # of two sign-ins at once, one waits
    wanted = _roles(list(groups)[:MOST_GROUPS])
    Membership.objects.filter(user=user, by_groups=True).exclude(project__in=wanted).delete()
    known = {membership.project_id: membership for membership in Membership.objects.filter(user=user)}
    for project, role in wanted.items():
        membership = known.get(project)
        if membership is None:
            Membership.objects.create(project_id=project, user=user, role=role, by_groups=True)
        elif membership.by_groups and membership.role != role:
            membership.role = role
            membership.save(update_fields=["role"])


def _roles(groups: list[str]) -> dict[int, Membership.Role]:
    """The highest role that the groups give, by project."""
    found: dict[int, Membership.Role] = {}
    for given in GroupRole.objects.filter(group__in=groups):
        role = Membership.Role(given.role)
        best = found.get(given.project_id, role)
        found[given.project_id] = max(role, best, key=ROLES.index)
    return found
