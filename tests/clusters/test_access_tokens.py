"""Personal access tokens: made by a person, shown once, they read what the person sees and change nothing."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils.timezone import now

from observatory.clusters.models import AccessToken
from observatory.clusters.tokens import access_tokens
from tests.world import HOSTILE, World

pytestmark = pytest.mark.django_db


def read(secret: str, path: str = "/api/v1/clusters", method: str = "get") -> int:
    """Without a session."""
    answer = getattr(Client(), method)(path, headers={"Authorization": f"Bearer {secret}"})
    return int(answer.status_code)


def test_a_token_reads_what_its_person_sees_and_nothing_else(world: World) -> None:
    _, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    assert read(secret) == 200
    assert read(secret, f"/api/v1/clusters/{world.live.pk}") == 200
    assert read(secret, f"/api/v1/clusters/{world.elsewhere.pk}") == 404


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_nothing_can_be_changed_with_a_token(world: World, method: str) -> None:
    _, secret = access_tokens.make(world.people["owner"], "notebook", None)
    for path in ("/api/v1/targets", f"/api/v1/targets/{world.target.pk}"):
        assert read(secret, path, method) == 401
    world.target.refresh_from_db()


def test_a_token_opens_no_page(world: World) -> None:
    _, secret = access_tokens.make(world.people["owner"], "notebook", None)
    assert read(secret, "/clusters/") == 302


def test_a_revoked_expired_or_unknown_token_is_refused(world: World) -> None:
    user = world.people["viewer"]
    token, secret = access_tokens.make(user, "notebook", 30)
    assert token.expires is not None
    assert token.expires > now() + timedelta(days=29)
    assert read(secret) == 200
    AccessToken.objects.update(expires=now() - timedelta(seconds=1))
    assert read(secret) == 401
    AccessToken.objects.update(expires=None)
    access_tokens.revoke(user, token.pk)
    assert read(secret) == 401
    for wrong in (secret[:-1], secret.upper(), token.digest, "", "obp_", "x" * 10_000):
        assert read(wrong) == 401
    assert read("bogus", "/api/v1/openapi.json") == 401


def test_what_a_proxy_asks_for_stands_in_no_sessions_way(world: World) -> None:
    viewer = world.client("viewer")
    assert viewer.get("/api/v1/clusters", headers={"Authorization": "Basic dTpw"}).status_code == 200
    assert viewer.get("/api/v1/clusters", headers={"Authorization": "Bearer obp_x"}).status_code == 401


def test_the_token_of_who_is_no_longer_active_is_refused(world: World) -> None:
    _, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    world.people["viewer"].is_active = False
    world.people["viewer"].save()
    assert read(secret) == 401


def test_a_secret_is_shown_once_and_not_stored(world: World) -> None:
    viewer = world.client("viewer")
    answer = viewer.post("/account/tokens/", {"name": HOSTILE, "days": "90"})
    [secret] = set(re.findall(r"obp_[\w-]{43}", answer.content.decode()))
    assert "no-store" in answer["Cache-Control"]
    assert HOSTILE not in answer.content.decode()
    assert secret not in viewer.get("/account/tokens/").content.decode()
    assert secret not in map(str, AccessToken.objects.values().get().values())
    assert read(secret) == 200


def test_only_ones_own_tokens_are_listed_and_revoked(world: World) -> None:
    token, secret = access_tokens.make(world.people["owner"], "of the owner", None)
    viewer = world.client("viewer")
    assert "of the owner" not in viewer.get("/account/tokens/").content.decode()
    assert viewer.post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    assert read(secret) == 200
    assert world.client("owner").post(f"/account/tokens/{token.pk}/revoke/").status_code == 302
    assert read(secret) == 401


@pytest.mark.parametrize("form", [{"name": ""}, {"name": "x" * 101}, {"name": "x", "days": "7000"}])
def test_a_token_without_a_proper_name_or_life_is_not_made(world: World, form: dict[str, str]) -> None:
    assert world.client("viewer").post("/account/tokens/", form).status_code == 422
    assert not AccessToken.objects.exists()


def test_when_a_token_was_used_is_kept(world: World) -> None:
    _, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    read(secret)
    used = AccessToken.objects.get().last_used
    assert used is not None
    assert used > now() - timedelta(minutes=1)


def test_the_admin_revokes_anybodys_token_and_shows_no_secret(world: World) -> None:
    token, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    admin = world.client("superuser")
    page = admin.get("/admin/clusters/accesstoken/").content.decode()
    assert token.prefix in page
    assert secret not in page
    admin.post("/admin/clusters/accesstoken/", {"action": "revoke", "_selected_action": token.pk})
    assert read(secret) == 401
    assert admin.get("/admin/clusters/accesstoken/add/").status_code == 403


def test_a_new_password_revokes_access_tokens_and_a_rehash_does_not(world: World) -> None:
    user = world.people["viewer"]
    _, secret = access_tokens.make(user, "notebook", None)
    user.last_name = "changed"
    user.save()
    assert read(secret) == 200
    user.set_password("another long password")
    user._password = None  # as Django does when it only upgrades the hash
    user.save(update_fields=["password"])
    assert read(secret) == 200
    user.set_password("a new long password")
    user.save()
    assert read(secret) == 401
