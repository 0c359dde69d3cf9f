"""Invitations: a link lets as many people into a project as it says, as long as its maker manages it."""

from __future__ import annotations

import json
import re
import threading
from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils.timezone import now

from observatory.clusters.accounts import invitations
from observatory.clusters.accounts.models import Invitation, Membership
from observatory.clusters.tokens import access_tokens
from observatory.config.logging.format import without_secrets
from tests.pages.accounts.invitation_links import NEW, PASSWORD, invite, role_of
from tests.support.projects import HOSTILE, World

pytestmark = pytest.mark.django_db


def link_in(page: str) -> str:
    """The path of the link that a page or an answer shows."""
    [token] = set(re.findall(r"/join/(obi_[\w-]{43})/", page))
    return f"/join/{token}/"


# making


def test_an_owner_makes_an_invitation_whose_link_is_shown_once(world: World) -> None:
    owner = world.client("owner")
    form = {"role": "editor", "note": HOSTILE, "days": "3", "uses": "2"}
    answer = owner.post("/projects/alpha/invitations/", form)
    link = link_in(answer.content.decode())
    assert "no-store" in answer["Cache-Control"]
    made = Invitation.objects.get()
    assert (made.role, made.uses, made.created_by) == ("editor", 2, world.people["owner"])
    assert timedelta(days=2, hours=23) < made.expires - now() < timedelta(days=3, hours=1)
    again = owner.get("/projects/alpha/").content.decode()
    assert "0 of 2" in again
    assert "obi_" not in again
    assert HOSTILE not in again
    assert "&lt;img" in again
    with connection.cursor() as cursor:
        cursor.execute("SELECT clusters_invitation::text FROM clusters_invitation")
        (row,) = cursor.fetchone()
    assert link.split("/")[2] not in row


@pytest.mark.parametrize(
    "wrong",
    [
        {"days": "0"},
        {"days": "91"},
        {"uses": "0"},
        {"uses": "101"},
        {"role": "superuser"},
        {"note": "x" * 201},
    ],
)
def test_an_invitation_out_of_bounds_is_refused_by_field(world: World, wrong: dict[str, str]) -> None:
    form = {"role": "viewer", "note": "", "days": "7", "uses": "1", **wrong}
    answer = world.client("owner").post("/projects/alpha/invitations/", form)
    assert answer.status_code == 422
    assert list(answer.context["invitation_form"].errors) == list(wrong)
    assert not Invitation.objects.exists()


def test_a_project_has_a_bounded_number_of_open_invitations(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invitations, "MOST_OPEN", 1)
    invite(world)
    form = {"role": "viewer", "days": "7", "uses": "1"}
    answer = world.client("owner").post("/projects/alpha/invitations/", form)
    assert answer.status_code == 422
    assert "Revoke one first" in answer.content.decode()
    Invitation.objects.update(revoked=now())
    assert world.client("owner").post("/projects/alpha/invitations/", form).status_code == 200


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_who_does_not_manage_members_sees_no_invitations(world: World, role: str) -> None:
    invite(world, note="for a friend")
    page = world.client(role).get("/projects/alpha/").content.decode()
    assert "for a friend" not in page
    assert "Invitations" not in page


# joining


def test_looking_at_the_link_uses_nothing_and_its_button_joins(world: World) -> None:
    link = invite(world, "editor")
    nobody = world.client("nobody")
    for _ in range(2):
        page = nobody.get(link).content.decode()
        assert "Join as nobody" in page
        assert "Alpha" in page
    assert role_of("nobody") is None
    answer = nobody.post(link, follow=True)
    assert answer.redirect_chain == [("/projects/alpha/", 302)]
    assert "You are a member of Alpha" in answer.content.decode()
    assert role_of("nobody") == "editor"
    assert Invitation.objects.get().used == 1
    assert world.client("outsider").post(link).status_code == 410
    assert role_of("outsider") is None


def test_a_form_of_another_site_joins_nobody(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.people["nobody"])
    assert client.post(invite(world)).status_code == 403
    assert role_of("nobody") is None


@pytest.mark.parametrize(
    ("member", "invited", "after", "used"),
    [
        ("owner", "viewer", "owner", 0),
        ("editor", "editor", "editor", 0),
        ("viewer", "editor", "editor", 1),
    ],
)
def test_a_role_is_raised_and_never_lowered(
    world: World, member: str, invited: str, after: str, used: int
) -> None:
    link = invite(world, invited, by="superuser")
    assert world.client(member).post(link).status_code == 302
    assert role_of(member) == after
    assert Invitation.objects.get().used == used


def test_a_member_who_would_gain_nothing_is_led_to_the_project(world: World) -> None:
    answer = world.client("editor").get(invite(world, "viewer"))
    assert answer.headers["Location"] == "/projects/alpha/"


def test_a_role_that_groups_gave_stays_after_an_invitation_raised_it(world: World) -> None:
    nobody = world.people["nobody"]
    Membership.objects.create(project=world.alpha, user=nobody, role="viewer", by_groups=True)
    world.client("nobody").post(invite(world, "editor"))
    assert Membership.objects.get(user=nobody).by_groups is False


def test_who_is_not_signed_in_signs_in_first_and_comes_back(world: World, client: Client) -> None:
    world.people["nobody"].set_password(PASSWORD)
    world.people["nobody"].save()
    link = invite(world)
    page = client.get(link).content.decode()
    assert "Alpha" not in page
    assert "owner" not in page
    assert client.post(link).status_code == 200, "a POST without a session only shows the page"
    sign_in = f"/sign-in/?next={link}"
    assert f'href="{sign_in}"' in page
    answer = client.post(sign_in, {"username": "nobody", "password": PASSWORD, "next": link})
    assert answer.headers["Location"] == link
    assert client.post(link).status_code == 302
    assert role_of("nobody") == "viewer"


def test_a_newcomer_makes_an_account_and_is_a_member_at_once(world: World, client: Client) -> None:
    link = invite(world, "editor")
    answer = client.post(f"{link}account/", NEW)
    assert answer.headers["Location"] == "/projects/alpha/"
    user = User.objects.get(username="newcomer")
    assert (user.is_staff, user.is_superuser, user.check_password(PASSWORD)) == (False, False, True)
    assert role_of("newcomer") == "editor"
    assert client.get("/projects/alpha/").status_code == 200
    late = Client().post(f"{link}account/", {**NEW, "username": "late"})
    assert late.status_code == 410
    assert not User.objects.filter(username="late").exists()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"username": "Owner"}, "username"),
        ({"username": "a b"}, "username"),
        ({"password1": "password", "password2": "password"}, "password2"),
        ({"password2": "another password"}, "password2"),
    ],
)
def test_an_account_that_cannot_be_made_uses_nothing(
    world: World, client: Client, wrong: dict[str, str], field: str
) -> None:
    count = User.objects.count()
    answer = client.post(f"{invite(world)}account/", {**NEW, **wrong})
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert User.objects.count() == count
    assert Invitation.objects.get().used == 0


def test_no_account_is_made_where_a_proxy_or_an_issuer_has_the_accounts(
    world: World, client: Client, settings: LazySettings
) -> None:
    settings.INVITED_MAKE_ACCOUNTS = False
    link = invite(world)
    assert "account/" not in client.get(link).content.decode()
    assert client.post(f"{link}account/", NEW).status_code == 403
    assert not User.objects.filter(username="newcomer").exists()


def test_who_is_signed_in_makes_no_second_account(world: World) -> None:
    link = invite(world)
    assert world.client("nobody").post(f"{link}account/", NEW).headers["Location"] == link
    assert not User.objects.filter(username="newcomer").exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("with_accounts", [False, True])
def test_of_two_people_who_use_the_last_use_at_once_exactly_one_gets_in(
    world: World, with_accounts: bool
) -> None:
    link = invite(world, uses=2)
    Invitation.objects.update(used=1)
    start = threading.Barrier(2)
    statuses: list[int] = []

    def use(name: str) -> None:
        client = Client() if with_accounts else world.client(name)
        data = {**NEW, "username": f"new-{name}"} if with_accounts else {}
        start.wait()
        statuses.append(client.post(f"{link}account/" if with_accounts else link, data).status_code)
        connection.close()

    people = ("nobody", "outsider")
    if not with_accounts:
        assert all(world.client(name) for name in people)
    threads = [threading.Thread(target=use, args=(name,)) for name in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [302, 410]
    assert Membership.objects.filter(project=world.alpha).count() == 4
    assert User.objects.filter(username__startswith="new-").count() == with_accounts
    assert Invitation.objects.get().used == 2


# logs and limits


def test_the_token_is_in_no_log_line_also_quoted_in_a_query() -> None:
    token = invitations.START + "SECRET" * 7
    for line in (f"Gone: /join/{token}/", f"/sign-in/?next=%2Fjoin%2F{token}%2F", f"it was {token}"):
        assert "SECRET" not in without_secrets(line)
        assert "…" in without_secrets(line)


def test_a_client_that_opens_an_invitation_too_often_has_to_wait(
    world: World, client: Client, settings: LazySettings
) -> None:
    settings.LINK_REQUESTS = 2
    link = invite(world)
    assert [client.get(link).status_code for _ in range(3)] == [200, 200, 429]
    assert client.post(f"{link}account/", NEW).status_code == 429
    assert client.get(link, REMOTE_ADDR="10.9.8.7").status_code == 200


# API and command


def send(secret: str, method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {secret}"}
    data = json.dumps(body or {})
    return Client().generic(method, f"/api/v1{path}", data, "application/json", headers=headers)


def test_a_token_with_the_scope_members_invites_lists_and_revokes(world: World) -> None:
    _, secret = access_tokens.make(world.people["owner"], "onboarding", None, ["members"])
    path = "/projects/alpha/invitations"
    made = send(secret, "POST", path, {"role": "editor", "note": "ann", "uses": 3})
    assert made.status_code == 201
    link = urlsplit(made.json()["url"]).path
    [listed] = send(secret, "GET", path).json()
    assert listed == {name: value for name, value in made.json().items() if name != "url"}
    assert (listed["role"], listed["uses"], listed["used"], listed["works"]) == ("editor", 3, 0, True)
    assert world.client("nobody").post(link).status_code == 302
    assert send(secret, "GET", path).json()[0]["used"] == 1
    assert send(secret, "DELETE", f"{path}/{listed['id']}").status_code == 204
    assert send(secret, "GET", path).json() == []
    assert world.client("outsider").post(link).status_code == 410
    refused = send(secret, "POST", path, {"days": 1000})
    assert refused.status_code == 422
    assert "days" in refused.json()["errors"]


def test_a_token_invites_nobody_where_its_owner_does_not_manage_members(world: World) -> None:
    _, secret = access_tokens.make(world.people["editor"], "onboarding", None, ["members"])
    assert send(secret, "POST", "/projects/alpha/invitations").status_code == 403
    assert send(secret, "POST", "/projects/beta/invitations").status_code == 404
    assert not Invitation.objects.exists()


def test_the_command_prints_a_link_of_the_first_administrator(world: World) -> None:
    printed = StringIO()
    call_command("invite", "alpha", "https://dask.example.org/", role="editor", stdout=printed)
    link = printed.getvalue().strip()
    assert link.startswith("https://dask.example.org/join/obi_")
    assert Invitation.objects.get().created_by == world.people["superuser"]
    assert world.client("nobody").post(urlsplit(link).path).status_code == 302
    assert role_of("nobody") == "editor"
    with pytest.raises(CommandError, match="there are: alpha, beta"):
        call_command("invite", "alfa", "http://localhost")
    with pytest.raises(CommandError, match="days"):
        call_command("invite", "alpha", "http://localhost", days=1000)
