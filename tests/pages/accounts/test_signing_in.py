from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

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
    assert b"Wait 30.0 s" in locked.content
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


def test_a_failure_is_stored_without_the_address_that_one_wanted_to_go_to(client: Client, ann: User) -> None:
    wanted = "/join/the-token-of-an-invitation/"
    form = {"username": "ann", "password": "wrong", "next": wanted}
    client.post(f"/sign-in/?next={wanted}", form)
    [attempt] = AccessAttempt.objects.values()
    assert attempt["username"] == "ann"
    assert "the-token" not in str(attempt)
    assert "the-token" not in str(list(AccessFailureLog.objects.values()))


def test_the_delay_doubles_after_each_further_five_failures(client: Client, ann: User) -> None:
    waits = []
    for _ in range(3):
        for _ in range(5):
            locked = sign_in(client, "wrong")
        waits.append(locked.context["cooloff_timedelta"].total_seconds())
        AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(hours=2))
    assert waits == [30, 60, 120]
    assert sign_in(client, PASSWORD).status_code == 302


def test_a_browser_that_signed_in_before_is_not_locked_out_by_others_at_its_address(
    client: Client, ann: User
) -> None:
    assert sign_in(client, PASSWORD).status_code == 302
    client.post("/sign-out/")
    for _ in range(6):
        attacker = sign_in(Client(), "wrong")
    assert attacker.status_code == 429
    assert sign_in(Client(), PASSWORD).status_code == 429
    assert sign_in(client, PASSWORD).status_code == 302


def test_a_known_browser_is_throttled_too_and_only_for_its_own_account(client: Client, ann: User) -> None:
    User.objects.create_user("bob", password=PASSWORD)
    sign_in(client, PASSWORD)
    client.post("/sign-out/")
    for _ in range(5):
        answer = sign_in(client, "wrong")
    assert answer.status_code == 429
    assert sign_in(Client(), PASSWORD).status_code == 302, "another browser is locked out by it"
    as_bob = {"username": "bob", "password": "wrong"}
    for _ in range(5):
        answer = Client().post("/sign-in/", as_bob)
    assert answer.status_code == 429
    assert client.post("/sign-in/", as_bob | {"password": PASSWORD}).status_code == 429


def test_a_forged_device_is_no_known_device(ann: User) -> None:
    forger = Client()
    forger.cookies["observatory_device"] = f"{ann.pk}:0123:forged"
    for _ in range(5):
        sign_in(Client(), "wrong")
    assert sign_in(forger, PASSWORD).status_code == 429
