"""People who leave lose sessions and access tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client, RequestFactory
from django.utils.timezone import now

from observatory.clusters.accounts import proxy_sign_in
from observatory.clusters.accounts.departures import bound_session, sessions_of
from observatory.clusters.tokens import access_tokens
from tests.support.projects import World, signed_in

pytestmark = pytest.mark.django_db


def test_a_deactivated_person_loses_sessions_and_tokens_for_good(world: World) -> None:
    editor, viewer = world.people["editor"], world.people["viewer"]
    client, other = signed_in(editor), world.client("viewer")
    _, secret = access_tokens.make(editor, "ci", None)
    _, kept = access_tokens.make(viewer, "ci", None)
    form = {"username": "editor", "date_joined_0": "2026-05-04", "date_joined_1": "10:00:00"}
    path = f"/admin/auth/user/{editor.pk}/change/"
    answer = world.client("superuser").post(path, form)
    assert answer.status_code == 302, answer.content.decode()[-3000:]
    editor.refresh_from_db()
    assert not editor.is_active
    assert sessions_of(editor) == []
    editor.is_active = True
    editor.save()
    assert client.get("/projects/").status_code == 302
    assert access_tokens.find(secret) is None
    assert other.get("/projects/").status_code == 200
    assert access_tokens.find(kept)


def test_a_session_of_single_sign_on_ends_after_its_hours_whatever_is_done_in_it(
    world: World, settings: Any
) -> None:
    client = signed_in(world.people["viewer"])
    session = client.session
    request = RequestFactory().get("/")
    request.session = session
    bound_session(request)
    session.save()
    ends = Session.objects.get(pk=session.session_key).expire_date
    assert abs(ends - now() - timedelta(hours=settings.SINGLE_SIGN_ON_HOURS)) < timedelta(minutes=5)
    session["something"] = "done"
    session.save()
    later = Session.objects.get(pk=session.session_key).expire_date
    assert later == pytest.approx(ends, abs=timedelta(seconds=2))
    assert client.get("/projects/").status_code == 200
    Session.objects.filter(pk=session.session_key).update(expire_date=now() - timedelta(seconds=1))
    assert client.get("/projects/").status_code == 302
    assert client.get("/api/v1/projects").status_code == 401


def test_a_session_that_a_proxy_began_is_bound_too(world: World, settings: Any) -> None:
    request = RequestFactory().get("/")
    request.session = Client().session
    proxy_sign_in.begin_session(request, proxy_sign_in.ProxyUser("viewer", None))
    left = request.session.get_expiry_age()
    assert 0 < left <= settings.SINGLE_SIGN_ON_HOURS * 3600


@pytest.mark.parametrize(
    ("passwords", "has_password", "days", "is_valid"),
    [
        (True, False, 29, True),
        (True, False, 31, False),
        (True, True, 31, True),
        (False, True, 31, False),
        (False, True, 29, True),
        (True, False, None, True),
    ],
)
def test_a_token_holds_while_somebody_vouches_for_its_person(
    world: World, settings: Any, passwords: bool, has_password: bool, days: int | None, is_valid: bool
) -> None:
    viewer = world.people["viewer"]
    _, secret = access_tokens.make(viewer, "ci", None)
    if has_password:
        viewer.set_password("of the viewer himself")
    else:
        viewer.set_unusable_password()
    viewer.last_login = None if days is None else now() - timedelta(days=days)
    User.objects.bulk_update([viewer], ["password", "last_login"])
    assert access_tokens.find(secret), "without single sign-on nobody else vouches"
    settings.SINGLE_SIGN_ON, settings.PASSWORD_SIGN_IN = ["an issuer"], passwords
    assert bool(access_tokens.find(secret)) == is_valid
    answer = Client().get("/api/v1/projects", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == (200 if is_valid else 401)
    User.objects.filter(pk=viewer.pk).update(last_login=now())
    assert access_tokens.find(secret), "after the next sign-in it holds again"
