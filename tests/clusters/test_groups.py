"""Groups of a proxy or single sign-on give memberships, and take only what groups gave."""

from __future__ import annotations

from django.contrib.auth.models import User

from observatory.clusters.accounts.groups import set_memberships
from observatory.clusters.accounts.models import GroupRole, Membership
from tests.support.projects import World


def roles(user: User) -> dict[str, str]:
    return dict(Membership.objects.filter(user=user).values_list("project__slug", "role"))


def test_groups_give_change_and_take_roles(world: World) -> None:
    nobody = world.people["nobody"]
    GroupRole.objects.create(group="ops", project=world.alpha, role="viewer")
    GroupRole.objects.create(group="leads", project=world.alpha, role="owner")
    GroupRole.objects.create(group="ops", project=world.beta, role="editor")
    set_memberships(nobody, ["ops", "leads", "of nothing"])
    assert roles(nobody) == {"alpha": "owner", "beta": "editor"}, "the highest role counts"
    set_memberships(nobody, ["ops"])
    assert roles(nobody) == {"alpha": "viewer", "beta": "editor"}
    GroupRole.objects.filter(project=world.beta).delete()
    set_memberships(nobody, ["ops"])
    assert roles(nobody) == {"alpha": "viewer"}
    set_memberships(nobody, [])
    assert roles(nobody) == {}


def test_what_was_given_by_hand_stays(world: World) -> None:
    editor = world.people["editor"]
    GroupRole.objects.create(group="ops", project=world.alpha, role="owner")
    set_memberships(editor, ["ops"])
    assert roles(editor) == {"alpha": "editor"}
    set_memberships(editor, [])
    assert roles(editor) == {"alpha": "editor"}


def test_a_role_of_groups_that_an_owner_sets_on_the_page_stays(world: World) -> None:
    nobody = world.people["nobody"]
    GroupRole.objects.create(group="ops", project=world.alpha, role="viewer")
    set_memberships(nobody, ["ops"])
    owner = world.client("owner")
    assert "by groups" in owner.get("/projects/alpha/").content.decode()
    owner.post(f"/projects/alpha/members/{Membership.objects.get(user=nobody).pk}/", {"role": "editor"})
    set_memberships(nobody, [])
    assert roles(nobody) == {"alpha": "editor"}
    assert "by groups" not in owner.get("/projects/alpha/").content.decode()
