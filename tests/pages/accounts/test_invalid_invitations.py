"""An invitation that no longer works lets nobody in, and names no project."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.timezone import now

from observatory.clusters.accounts import invitations
from observatory.clusters.accounts.models import Invitation, Membership
from tests.pages.accounts.invitation_links import NEW, invite, role_of
from tests.support.projects import World

pytestmark = pytest.mark.django_db


def used_up(world: World) -> None:
    Invitation.objects.update(used=1)


def expired(world: World) -> None:
    Invitation.objects.update(expires=now() - timedelta(seconds=1))


def revoked(world: World) -> None:
    pk = Invitation.objects.get().pk
    assert world.client("superuser").post(f"/projects/alpha/invitations/{pk}/revoke/").status_code == 302


def maker_demoted(world: World) -> None:
    Membership.objects.filter(user=world.people["owner"]).update(role="editor")


def maker_no_member(world: World) -> None:
    Membership.objects.filter(user=world.people["owner"]).delete()


def maker_deactivated(world: World) -> None:
    User.objects.filter(username="owner").update(is_active=False)


def maker_deleted(world: World) -> None:
    world.people["owner"].delete()


@pytest.mark.parametrize(
    "happened",
    [used_up, expired, revoked, maker_demoted, maker_no_member, maker_deactivated, maker_deleted],
)
def test_an_invitation_that_no_longer_works_says_so_and_names_no_project(
    world: World, client: Client, happened: Any
) -> None:
    link = invite(world, note="for ann")
    happened(world)
    unknown = client.get(f"/join/{invitations.START}{'x' * 43}/")
    assert unknown.status_code == 410
    answers = [
        client.get(link),
        client.post(link),
        client.post(f"{link}account/", NEW),
        world.client("nobody").get(link),
        world.client("nobody").post(link),
    ]
    for answer in answers:
        page = answer.content.decode()
        assert answer.status_code == 410
        assert "This invitation is not valid" in page
        assert not any(word in page for word in ("Alpha", "alpha", "for ann", "owner"))
    assert role_of("nobody") is None
    assert not User.objects.filter(username="newcomer").exists()


def test_the_list_says_which_invitation_does_not_work_since_its_maker_left(world: World) -> None:
    invite(world, note="of the owner")
    invite(world, note="of the superuser", by="superuser")
    maker_no_member(world)
    page = world.client("superuser").get("/projects/alpha/").content.decode()
    rows = {note: page.index(note) for note in ("of the owner", "of the superuser")}
    assert page.count("not valid</span>") == 1
    assert page.index("not valid</span>") > rows["of the owner"] > rows["of the superuser"]


def test_an_invitation_of_another_project_is_not_revoked(world: World) -> None:
    link = invite(world)
    pk = Invitation.objects.get().pk
    assert world.client("outsider").post(f"/projects/beta/invitations/{pk}/revoke/").status_code == 404
    assert world.client("nobody").get(link).status_code == 200


@pytest.mark.parametrize("token", ["x", "obi_", "obi_" + "x" * 5000, "obs_" + "x" * 43, "obi_é"])
def test_what_is_no_token_opens_nothing(world: World, client: Client, token: str) -> None:
    assert client.get(f"/join/{token}/").status_code == 410
