"""Personal access tokens: made by a person and shown once. They change only what their scopes name."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from django.test import Client
from django.utils.timezone import now

from observatory.clusters.accounts.models import Membership
from observatory.clusters.tokens import access_tokens
from observatory.clusters.tokens.models import AccessToken
from observatory.config.api import api
from observatory.exchange.models import Job
from tests.support.projects import HOSTILE, World
from tests.support.stored_alerts import make_alert

pytestmark = pytest.mark.django_db

CHANGES = {
    "targets": {
        *("POST /targets", "PATCH /targets/{target_id}", "DELETE /targets/{target_id}"),
        *("POST /discoveries", "PATCH /discoveries/{discovery_id}", "DELETE /discoveries/{discovery_id}"),
    },
    "runs": {
        "POST /runs",
        "PATCH /runs/{run_id}",
        "POST /clusters/{cluster_id}/notes",
        "PATCH /clusters/{cluster_id}/notes/{note_id}",
        "DELETE /clusters/{cluster_id}/notes/{note_id}",
        "POST /runs/{run_id}/attachments",
        "PATCH /runs/{run_id}/attachments/{attachment_id}",
        "DELETE /runs/{run_id}/attachments/{attachment_id}",
        "POST /runs/{run_id}/finding-marks",
        "DELETE /finding-marks/{mark_id}",
    },
    "exports": {"POST /runs/{run_id}/exports"},
    "members": {
        "POST /projects/{slug}/invitations",
        "DELETE /projects/{slug}/invitations/{invitation_id}",
    },
    "deletions": {"POST /deletions/{kind}/{reference}"},
}
"""what a token with the scope alone may do"""


def read(secret: str, path: str = "/api/v1/clusters", method: str = "get") -> int:
    """Without a session."""
    answer = getattr(Client(), method)(path, headers={"Authorization": f"Bearer {secret}"})
    return int(answer.status_code)


def test_a_token_reads_what_its_person_sees_and_nothing_else(world: World) -> None:
    _, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    assert read(secret) == 200
    assert read(secret, f"/api/v1/clusters/{world.live.pk}") == 200
    assert read(secret, f"/api/v1/clusters/{world.elsewhere.pk}") == 404


def send(secret: str, method: str, path: str, body: Any = None) -> Any:
    """The answer to a request with JSON."""
    return Client(enforce_csrf_checks=True).generic(
        method,
        f"/api/v1{path}",
        json.dumps(body or {}),
        "application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )


@cache
def unsafe_routes() -> list[tuple[str, str]]:
    """Method and path of all routes that change something for people; queries have a body alone."""
    paths = api.get_openapi_schema(path_prefix="")["paths"]
    found = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    others = ("/ingest", "/ingest/prometheus", "/sql", "/prometheus/read")
    return [(method, path) for method, path in found if method != "GET" and path not in others]


@pytest.mark.parametrize("scope", ["", *CHANGES])
def test_a_token_changes_only_what_its_scope_names(world: World, scope: str) -> None:
    alert = make_alert(world.live)
    _, secret = access_tokens.make(world.people["superuser"], "notebook", None, [scope] if scope else [])
    ids = {
        "target_id": world.target.pk,
        "run_id": world.run.pk,
        "alert_id": alert.pk,
        "note_id": 1,
        "attachment_id": 1,
        "mark_id": 1,
    }
    ids |= {"discovery_id": 1, "invitation_id": 1, "kind": "cluster", "reference": world.live.pk}
    assert len(unsafe_routes()) > 10
    done = set()
    for method, path in unsafe_routes():
        answer = send(secret, method, path.format(cluster_id=world.live.pk, slug="alpha", **ids))
        if answer.status_code != 403:
            assert answer.status_code in (201, 204, 404, 422, 200), (method, path)
            done.add(f"{method} {path}")
        else:
            needed = [name for name, routes in CHANGES.items() if f"{method} {path}" in routes]
            detail = answer.json()["detail"]
            assert f"lacks the scope “{needed[0]}”" in detail if needed else "No access token can" in detail
    assert done == CHANGES.get(scope, set())


def test_a_token_never_does_more_than_its_owner_may_now(world: World) -> None:
    _, secret = access_tokens.make(world.people["editor"], "ci", None, ["runs"])
    path = f"/runs/{world.run.pk}"
    assert send(secret, "PATCH", path, {"name": "renamed"}).json()["name"] == "renamed"
    Membership.objects.filter(user=world.people["editor"]).update(role=Membership.Role.VIEWER)
    answer = send(secret, "PATCH", path, {"name": "again"})
    assert answer.status_code == 403
    assert "editors and owners" in answer.json()["detail"]
    Membership.objects.filter(user=world.people["editor"]).delete()
    assert send(secret, "PATCH", path, {"name": "again"}).status_code == 404
    world.run.refresh_from_db()
    assert world.run.name == "renamed"


def test_a_token_starts_an_export_and_names_the_formats(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("observatory.exchange.jobs.jobs.work.delay", lambda job: None)
    _, secret = access_tokens.make(world.people["viewer"], "ci", None, ["exports"])
    path = f"/runs/{world.run.pk}/exports"
    wrong = send(secret, "POST", path, {"format": "docx"})
    assert wrong.status_code == 422
    assert "parquet" in wrong.json()["detail"]
    job = send(secret, "POST", path, {"format": "parquet"})
    assert job.status_code == 201
    assert Job.objects.get().pk == job.json()["id"]
    assert read(secret, f"/api/v1/jobs/{job.json()['id']}/file") == 404  # not ready


def test_scopes_are_chosen_in_the_form_and_shown_in_the_list(world: World) -> None:
    viewer = world.client("viewer")
    assert viewer.post("/account/tokens/", {"name": "x", "scopes": ["everything"]}).status_code == 422
    viewer.post("/account/tokens/", {"name": "reader", "days": "30"})
    viewer.post("/account/tokens/", {"name": "ci", "days": "30", "scopes": ["exports", "targets"]})
    scopes = dict(AccessToken.objects.values_list("name", "scopes"))
    assert scopes == {"reader": [], "ci": ["targets", "exports"]}
    assert "read, targets, exports" in viewer.get("/account/tokens/").content.decode()


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
