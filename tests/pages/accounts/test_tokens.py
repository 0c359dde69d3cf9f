"""Ingest tokens on the page of their project."""

from __future__ import annotations

import re

import pytest

from observatory.clusters.tokens import ingest_tokens
from tests.support.projects import HOSTILE, World

pytestmark = pytest.mark.django_db


def test_a_new_tokens_secret_is_shown_once(world: World) -> None:
    editor = world.client("editor")
    answer = editor.post("/projects/alpha/tokens/", {"name": "nightly"})
    [secret] = set(re.findall(r"obs_[\w-]{43}", answer.content.decode()))
    assert ingest_tokens.find(secret) is not None
    assert "no-store" in answer["Cache-Control"]
    again = editor.get("/projects/alpha/").content.decode()
    assert "nightly" in again
    assert secret not in again


def test_a_revoked_token_is_listed_as_such_and_no_longer_opens(world: World) -> None:
    token, secret = ingest_tokens.make(world.alpha, "nightly", None)
    editor = world.client("editor")
    answer = editor.post(f"/projects/alpha/tokens/{token.pk}/revoke/", follow=True)
    assert "The token is revoked" in answer.content.decode()
    assert ingest_tokens.find(secret) is None
    assert "nightly" in editor.get("/projects/alpha/").content.decode()


@pytest.mark.parametrize("name", ["", " ", "x" * 101])
def test_a_token_without_a_proper_name_is_not_made(world: World, name: str) -> None:
    answer = world.client("editor").post("/projects/alpha/tokens/", {"name": name})
    assert answer.status_code == 422
    assert not world.alpha.ingest_tokens.exists()


def test_a_tokens_name_is_shown_as_text(world: World) -> None:
    ingest_tokens.make(world.alpha, HOSTILE, None)
    page = world.client("editor").get("/projects/alpha/").content.decode()
    assert HOSTILE not in page
    assert "&lt;img" in page


def test_a_viewer_sees_no_way_to_make_a_token(world: World) -> None:
    page = world.client("viewer").get("/projects/alpha/").content.decode()
    assert "/projects/alpha/tokens/" not in page
