from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import Http404

from observatory.clusters import access
from tests.support.projects import World

MEMBERS = ("owner", "editor", "viewer", "superuser")
OTHERS = ("outsider", "nobody")


@pytest.mark.parametrize("role", MEMBERS)
def test_members_and_superusers_see_what_a_project_owns(world: World, role: str) -> None:
    user = world.people[role]
    assert world.alpha in access.visible_projects(user)
    assert world.target in access.visible_targets(user)
    assert {world.live, world.ended} <= set(access.visible_clusters(user))
    assert access.get_cluster(user, world.live.pk) == world.live


@pytest.mark.parametrize("role", OTHERS)
def test_others_see_nothing_of_it_and_cannot_tell_whether_it_exists(world: World, role: str) -> None:
    user = world.people[role]
    assert world.alpha not in access.visible_projects(user)
    assert world.target not in access.visible_targets(user)
    assert not {world.live, world.ended} & set(access.visible_clusters(user))
    with pytest.raises(Http404) as forbidden:
        access.get_cluster(user, world.live.pk)
    with pytest.raises(Http404) as missing:
        access.get_cluster(user, 1_000_000)
    assert str(forbidden.value) == str(missing.value)


def test_one_who_is_not_signed_in_or_was_deactivated_sees_nothing(world: World) -> None:
    world.people["superuser"].is_active = False
    for user in (AnonymousUser(), world.people["superuser"]):
        assert not access.visible_projects(user).exists()
        assert not access.visible_clusters(user).exists()
        assert not access.may_set_targets(user, world.alpha)


@pytest.mark.parametrize(
    ("role", "sets_targets", "manages"),
    [
        ("viewer", False, False),
        ("editor", True, False),
        ("owner", True, True),
        ("superuser", True, True),
        ("outsider", False, False),
        ("nobody", False, False),
    ],
)
def test_editors_set_targets_and_owners_manage(
    world: World, role: str, sets_targets: bool, manages: bool
) -> None:
    user = world.people[role]
    assert access.may_set_targets(user, world.alpha) is sets_targets
    assert access.may_manage(user, world.alpha) is manages
