"""Sign-ins, failed ones and people who are deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from observatory.clusters.audit.sign_ins import UNKNOWN
from observatory.clusters.deletion import deletions
from observatory.clusters.deletion.kind import kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.models import AuditEntry
from observatory.clusters.tokens import access_tokens
from tests.support.projects import World, signed_in

pytestmark = pytest.mark.django_db
PASSWORD = "a-password-of-a-person"


@pytest.fixture
def ann(db: None) -> User:
    cache.clear()
    return User.objects.create_user("ann", "ann@example.org", PASSWORD)


def sign_in(name: str, password: str, address: str = "203.0.113.9") -> Any:
    return Client().post("/sign-in/", {"username": name, "password": password}, REMOTE_ADDR=address)


def shown(action: str) -> list[tuple[str, str, int | None, str]]:
    found = AuditEntry.objects.filter(action=action).order_by("pk")
    return list(found.values_list("actor_name", "subject", "person_id", "address"))


def test_a_sign_in_and_a_sign_out_are_noted_with_the_address(ann: User) -> None:
    client = Client(REMOTE_ADDR="203.0.113.9")
    client.post("/sign-in/", {"username": "ann", "password": PASSWORD})
    client.post("/sign-out/")
    assert shown("sign-in") == shown("sign-out") == [("ann", "ann", ann.pk, "203.0.113.9")]


def test_a_guess_is_noted_and_a_flood_of_guesses_once_a_minute(ann: User) -> None:
    for _ in range(4):
        sign_in("ann", "wrong")
    sign_in("ann", "wrong", "203.0.113.10")
    sign_in("my-secret-passphrase", "ann")
    assert shown("sign-in-failed") == [
        ("", "ann", ann.pk, "203.0.113.9"),
        ("", "ann", ann.pk, "203.0.113.10"),
        ("", UNKNOWN, None, "203.0.113.9"),
    ]
    assert "my-secret-passphrase" not in json.dumps(list(AuditEntry.objects.values()), default=str)


@pytest.mark.parametrize("way", ["deletion", "shell"])
def test_a_deleted_person_stays_under_a_pseudonym_that_links_the_entries(
    world: World, ann: User, way: str
) -> None:
    sign_in("ann", PASSWORD)
    sign_in("ann", "wrong")
    world.alpha.memberships.create(user=ann, role="owner")
    signed_in(ann).post("/projects/alpha/tokens/", {"name": "of a cluster"}, REMOTE_ADDR="203.0.113.9")
    access_tokens.make(ann, "laptop of ann", None)
    ann.email = "ann@other.example"
    ann.save()
    number = ann.pk
    if way == "shell":
        ann.delete()
    else:
        asked = deletions.note(kinds()["person"], ann, world.people["superuser"], Deletion.Door.ADMIN)
        deletions.perform(asked)
    entries = list(AuditEntry.objects.order_by("pk"))
    about = [entry for entry in entries if number in (entry.actor_id, entry.person_id)]
    assert len(about) >= 6
    text = json.dumps(list(AuditEntry.objects.values()), default=str)
    for personal in ("ann", "example", "laptop", "203.0.113.9"):
        assert personal not in text.replace("channel", ""), personal
    [made] = [entry for entry in about if entry.kind == "ingest token"]
    assert (made.actor_name, made.subject) == (f"deleted person {number}", "of a cluster")
    assert {entry.subject for entry in about if entry.person_id == number} == {f"deleted person {number}"}
