"""Ingest tokens: made by editors, shown once, stored as digests, revoked at once."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.http import Http404
from django.utils.timezone import now

from observatory.clusters.models import Project
from observatory.clusters.tokens import ingest_tokens
from observatory.clusters.tokens.models import IngestToken
from tests.support.projects import World


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(name="Team", slug="team")


def test_a_token_is_found_by_its_secret_alone(project: Project) -> None:
    token, secret = ingest_tokens.make(project, "nightly", None)
    assert ingest_tokens.find(secret) == token
    for wrong in (secret[:-1], secret + "x", secret.upper(), token.digest, token.prefix, ""):
        assert ingest_tokens.find(wrong) is None


def test_the_secret_is_not_stored(project: Project) -> None:
    token, secret = ingest_tokens.make(project, "nightly", None)
    stored = IngestToken.objects.filter(pk=token.pk).values().get()
    assert secret not in map(str, stored.values())
    assert not any(len(value) > 8 and value in secret for value in stored.values() if isinstance(value, str))


def test_a_secret_has_256_random_bits_and_none_is_like_another(project: Project) -> None:
    secrets = {ingest_tokens.make(project, "many", None)[1] for _ in range(50)}
    assert len(secrets) == 50
    assert all(len(secret) == len("obs_") + 43 for secret in secrets)


def test_a_revoked_token_is_not_found_and_stays_listed(project: Project) -> None:
    token, secret = ingest_tokens.make(project, "nightly", None)
    ingest_tokens.revoke(project, token.pk)
    assert ingest_tokens.find(secret) is None
    revoked = project.ingest_tokens.get().revoked
    ingest_tokens.revoke(project, token.pk)
    assert project.ingest_tokens.get().revoked == revoked, "the first time counts"


def test_another_projects_token_can_not_be_revoked(project: Project) -> None:
    token, secret = ingest_tokens.make(project, "nightly", None)
    with pytest.raises(Http404):
        ingest_tokens.revoke(Project.objects.create(name="Other", slug="other"), token.pk)
    assert ingest_tokens.find(secret) == token


def test_when_a_token_was_used_last_is_kept_to_the_minute(project: Project) -> None:
    token, secret = ingest_tokens.make(project, "nightly", None)
    assert token.last_used is None
    ingest_tokens.find(secret)
    first = project.ingest_tokens.get().last_used
    assert first is not None
    ingest_tokens.find(secret)
    assert project.ingest_tokens.get().last_used == first
    project.ingest_tokens.update(last_used=now() - timedelta(minutes=5))
    ingest_tokens.find(secret)
    assert project.ingest_tokens.get().last_used > now() - timedelta(minutes=1)


def test_the_command_prints_a_token_that_works(project: Project) -> None:
    printed = StringIO()
    call_command("ingest_token", "team", name="nightly", stdout=printed)
    found = ingest_tokens.find(printed.getvalue().strip())
    assert found is not None
    assert (found.project, found.name) == (project, "nightly")


def test_the_command_names_the_projects_where_there_is_none_of_that_name(project: Project) -> None:
    with pytest.raises(CommandError, match="there is no project 'tam'; there are: team"):
        call_command("ingest_token", "tam")


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("outsider", 404), ("anonymous", 302)])
def test_who_may_not_edit_a_project_makes_no_token(world: World, role: str, status: int) -> None:
    answer = world.client(role).post(f"/projects/{world.alpha.slug}/tokens/", {"name": "mine"})
    assert answer.status_code == status
    assert not IngestToken.objects.exists()


def test_the_admin_lists_tokens_and_tells_no_digest(world: World) -> None:
    token, secret = ingest_tokens.make(world.alpha, "nightly", User.objects.first())
    admin = world.client("superuser")
    for path in ("", f"{token.pk}/change/"):
        page = admin.get(f"/admin/clusters/ingesttoken/{path}").content.decode()
        assert "nightly" in page
        assert token.digest not in page
        assert secret not in page
