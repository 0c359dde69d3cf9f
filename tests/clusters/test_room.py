"""People and their programs make so many rows and no more; what says so names the limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from observatory.clusters.models import Target
from observatory.clusters.tokens.models import AccessToken, IngestToken
from observatory.runs.models import Permalink
from tests.support.projects import World


def add_target(world: World, number: int) -> Any:
    fields = {"project": "alpha", "url": f"http://127.0.0.1:{number}", "enabled": False}
    return world.client("editor").post("/api/v1/targets", fields, content_type="application/json")


def add_discovery(world: World, number: int) -> Any:
    fields = {"project": "alpha", "kind": "http_sd", "address": f"http://list-{number}.example/"}
    return world.client("editor").post("/api/v1/discoveries", fields, content_type="application/json")


def add_ingest_token(world: World, number: int) -> Any:
    return world.client("editor").post(reverse("token-make", args=["alpha"]), {"name": f"t{number}"})


def add_token_in_admin(world: World, number: int) -> Any:
    fields = {"project": world.alpha.pk, "name": f"t{number}"}
    return world.client("superuser").post(reverse("admin:clusters_ingesttoken_add"), fields, follow=True)


def add_access_token(world: World, number: int) -> Any:
    return world.client("viewer").post(reverse("access-tokens"), {"name": f"t{number}"})


def add_link(world: World, number: int) -> Any:
    return world.client("editor").post(reverse("run-links", args=[world.run.pk]), {"audience": "members"})


MAKING: dict[str, tuple[str, Callable[[World, int], Any], str]] = {
    "discoveries": (
        "observatory.collect.discovery.form.MOST_DISCOVERIES",
        add_discovery,
        "The project has 2 discoveries, the maximum. Delete one first.",
    ),
    "ingest tokens": (
        "observatory.clusters.tokens.models.MOST_INGEST_TOKENS",
        add_ingest_token,
        "The project has 2 tokens, the maximum. Revoke one first.",
    ),
    "ingest tokens in the admin": (
        "observatory.clusters.tokens.models.MOST_INGEST_TOKENS",
        add_token_in_admin,
        "The project has 2 tokens, the maximum. Revoke one first.",
    ),
    "access tokens": (
        "observatory.clusters.tokens.access_tokens.MOST_TOKENS",
        add_access_token,
        "Your account has 2 tokens, the maximum. Revoke one first.",
    ),
    "links": (
        "observatory.runs.sharing.links.MOST_LINKS",
        add_link,
        "This run has 2 links, the maximum. Revoke one first.",
    ),
}


@pytest.mark.parametrize("what", MAKING)
def test_there_are_so_many_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    limit, add, sentence = MAKING[what]
    monkeypatch.setattr(limit, 2)
    answers = [add(world, number).content.decode() for number in range(3)]
    assert [sentence in answer for answer in answers] == [False, False, True]
    for rows in (IngestToken.objects, AccessToken.objects, Permalink.objects, world.alpha.discoveries):
        assert rows.count() in (0, 2)


def test_a_project_has_so_many_targets_and_those_it_has_can_be_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("observatory.collect.forms.MOST_TARGETS", 1)
    answer = add_target(world, 9)
    assert answer.status_code == 422
    assert "The project has 1 targets, the maximum. Delete one first." in answer.json()["detail"]
    path = f"/api/v1/targets/{world.target.pk}"
    changed = world.client("editor").patch(path, {"enabled": False}, content_type="application/json")
    assert changed.status_code == 200, changed.content
    assert Target.objects.count() == 1


def test_the_command_says_so_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("observatory.clusters.tokens.models.MOST_INGEST_TOKENS", 0)
    with pytest.raises(CommandError, match="The project has 0 tokens, the maximum"):
        call_command("ingest_token", "alpha")
