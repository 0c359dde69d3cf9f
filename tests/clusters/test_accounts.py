from __future__ import annotations

import threading
from datetime import datetime, timedelta
from urllib.parse import urlencode, urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from observatory.clusters.accounts.models import Membership
from observatory.clusters.accounts.sign_in_links import SignInTokenGenerator, first_administrator_link
from observatory.clusters.models import Project

BASE = "http://localhost:8000"


def link() -> str:
    """The path of a new link."""
    return urlsplit(first_administrator_link(BASE)).path


def test_the_first_link_makes_an_administrator_without_password_and_a_default_project(db: None) -> None:
    assert first_administrator_link(f"{BASE}/").startswith(f"{BASE}/sign-in/once/")
    admin = User.objects.get()
    assert admin.username == "admin"
    assert admin.is_superuser
    assert admin.is_staff
    assert not admin.has_usable_password()
    assert Membership.objects.get().role == Membership.Role.OWNER
    assert Project.objects.get().name == "Default"


def test_later_links_are_for_the_same_administrator(db: None) -> None:
    link()
    link()
    assert User.objects.count() == Project.objects.count() == 1


def test_an_ordinary_user_named_admin_is_not_made_an_administrator(db: None) -> None:
    User.objects.create_user("admin")
    link()
    assert not User.objects.get(username="admin").is_superuser
    assert User.objects.filter(is_superuser=True).count() == 1


def test_looking_at_a_link_does_not_use_it_up_and_pressing_its_button_does(client: Client, db: None) -> None:
    path = link()
    for _ in range(2):
        assert b"Sign in as admin" in client.get(path).content
        assert "_auth_user_id" not in client.session
    assert client.post(path).headers["Location"] == "/clusters/"
    assert client.session["_auth_user_id"] == str(User.objects.get().pk)

    stranger = Client()
    assert stranger.get(path).status_code == 410
    refused = stranger.post(path)
    assert refused.status_code == 410
    assert b"no longer valid" in refused.content
    assert "_auth_user_id" not in stranger.session


def test_a_link_leads_to_the_page_that_it_names_if_that_is_one_of_this_site(db: None) -> None:
    for wanted, landed in (
        ("/clusters/newest/?name=demo", "/clusters/newest/?name=demo"),
        ("https://evil.example/", "/clusters/"),
        ("//evil.example/", "/clusters/"),
        ("javascript:alert(1)", "/clusters/"),
    ):
        answer = Client().post(f"{link()}?{urlencode({'next': wanted})}")
        assert answer.headers["Location"] == landed


def test_pages_remind_who_came_by_a_link_of_a_missing_password(client: Client, db: None) -> None:
    client.post(link())
    reminder = b"your account has no password"
    assert reminder in client.get("/clusters/").content
    assert reminder not in client.get("/account/password/").content
    password = "a long enough one"
    client.post("/account/password/", {"new_password1": password, "new_password2": password})
    assert reminder not in client.get("/clusters/").content


def test_using_one_link_makes_all_earlier_ones_void(client: Client, db: None) -> None:
    first, second = link(), link()
    assert client.post(second).status_code == 302
    assert Client().post(first).status_code == 410


def test_a_link_lives_for_an_hour(client: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    path = link()
    now = datetime.now()
    monkeypatch.setattr(SignInTokenGenerator, "_now", lambda self: now + timedelta(minutes=59))
    assert client.get(path).status_code == 200
    monkeypatch.setattr(SignInTokenGenerator, "_now", lambda self: now + timedelta(minutes=61))
    assert client.post(path).status_code == 410


@pytest.mark.parametrize("number", ["MQ", "x", "!!", "LTE", "OTk5OTk5OTk5OTk5OTk5OTk5", "w7w"])
def test_a_forged_link_signs_nobody_in(client: Client, db: None, number: str) -> None:
    link()
    assert client.post(f"/sign-in/once/{number}/abcdef-0123456789/").status_code == 410


def test_a_link_of_a_deactivated_person_signs_nobody_in(client: Client, db: None) -> None:
    path = link()
    User.objects.update(is_active=False)
    assert client.post(path).status_code == 410


@pytest.mark.django_db(transaction=True)
def test_of_two_uses_at_the_same_time_one_succeeds() -> None:
    path = link()
    start = threading.Barrier(2)
    statuses: list[int] = []

    def use() -> None:
        client = Client()
        start.wait()
        statuses.append(client.post(path).status_code)
        connection.close()

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [302, 410]


def test_who_came_by_a_link_can_set_a_password_and_sign_in_with_it(client: Client, db: None) -> None:
    client.post(link())
    assert b"Choose a password" in client.get("/account/password/").content
    password = "a long enough one"
    answer = client.post("/account/password/", {"new_password1": password, "new_password2": password})
    assert answer.headers["Location"] == "/clusters/"
    assert "_auth_user_id" in client.session
    fresh = Client()
    answer = fresh.post("/sign-in/", {"username": "admin", "password": password})
    assert answer.headers["Location"] == "/clusters/"
