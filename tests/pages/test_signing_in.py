from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

PASSWORD = "correct horse battery"


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann", password=PASSWORD)


def sign_in(client: Client, password: str, **extra: Any) -> Any:
    return client.post("/sign-in/", {"username": "ann", "password": password}, **extra)


def test_signing_in_leads_to_where_one_wanted_to_go_and_nowhere_else(client: Client, ann: User) -> None:
    wanted = client.get("/targets/?project=x").headers["Location"]
    assert b"Sign in" in client.get(wanted).content
    data = {"username": "ann", "password": PASSWORD, "next": "/targets/?project=x"}
    assert client.post("/sign-in/", data).headers["Location"] == "/targets/?project=x"
    elsewhere = Client().post("/sign-in/", {**data, "next": "https://evil.example/"})
    assert elsewhere.headers["Location"] == "/clusters/"


def test_a_wrong_password_is_told_without_telling_whether_the_name_exists(client: Client, ann: User) -> None:
    wrong = client.post("/sign-in/", {"username": "ann", "password": "wrong"})
    unknown = client.post("/sign-in/", {"username": "bob", "password": "wrong"})
    assert [*wrong.context["form"].non_field_errors()] == [*unknown.context["form"].non_field_errors()]


def test_signing_out_needs_a_post(client: Client, ann: User) -> None:
    client.force_login(ann)
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/").headers["Location"] == "/sign-in/"
    assert client.get("/clusters/").status_code == 302


def test_the_fifth_failure_locks_the_name_for_that_address_with_a_clear_page(
    client: Client, ann: User
) -> None:
    for _ in range(4):
        assert sign_in(client, "wrong").status_code == 200
    locked = sign_in(client, "wrong")
    assert locked.status_code == 429
    assert b"Too many failed sign-ins" in locked.content
    assert b"15 minutes" in locked.content
    assert sign_in(client, PASSWORD).status_code == 429, "the right password gets in while locked"
    elsewhere = sign_in(Client(), PASSWORD, REMOTE_ADDR="10.9.9.9")
    assert elsewhere.status_code == 302, "who tries from elsewhere is locked out by it"


def test_a_page_that_was_open_too_long_says_so(ann: User) -> None:
    answer = sign_in(Client(enforce_csrf_checks=True), PASSWORD)
    assert answer.status_code == 403
    assert b"expired" in answer.content


def test_an_earlier_password_must_be_known_to_change_it(client: Client, ann: User) -> None:
    client.force_login(ann)
    new = {"new_password1": "another long one", "new_password2": "another long one"}
    refused = client.post("/account/password/", {**new, "old_password": "wrong"})
    assert list(refused.context["form"].errors) == ["old_password"]
    assert client.post("/account/password/", {**new, "old_password": PASSWORD}).status_code == 302
    assert client.get("/clusters/").status_code == 200, "changing it signs out"
