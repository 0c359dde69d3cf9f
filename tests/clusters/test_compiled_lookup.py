"""Lookups that are compiled once find what Django's own queries find."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from django.db import connection
from django.db.models import Model
from django.db.models.sql.compiler import SQLCompiler
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from observatory.clusters.models import Cluster, Project, Target
from observatory.clusters.tokens import ingest_tokens
from observatory.clusters.tokens.models import IngestToken
from observatory.collect.collector.clusters.registry import BY_SCHEDULER

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return Project.objects.create(name="Team", slug="team", quota_gib=1.5)


def fields(found: Model) -> dict[str, object]:
    return {field.attname: getattr(found, field.attname) for field in found._meta.concrete_fields}


def test_a_token_is_found_with_its_project_by_one_statement_that_is_not_compiled_again(
    project: Project,
) -> None:
    tokens = [ingest_tokens.make(project, f"token {number}", None) for number in range(3)]
    IngestToken.objects.update(last_used=now())
    assert ingest_tokens.find(tokens[0][1]) == tokens[0][0]
    for token, secret in tokens:
        with patch.object(SQLCompiler, "as_sql", side_effect=AssertionError("compiled")):
            with CaptureQueriesContext(connection) as queries:
                found = ingest_tokens.find(secret)
                assert found is not None
                found_project = found.project
            assert len(queries) == 1
        expected = IngestToken.objects.select_related("project").get(pk=token.pk)
        assert fields(found) == fields(expected)
        assert fields(found_project) == fields(expected.project)


def test_a_revoked_and_an_unknown_token_are_not_found(project: Project) -> None:
    token, secret = ingest_tokens.make(project, "token", None)
    assert ingest_tokens.find(secret) == token
    assert ingest_tokens.find(f"{secret}x") is None
    assert ingest_tokens.find("obs_<digest>") is None
    ingest_tokens.revoke(project, token.pk)
    assert ingest_tokens.find(secret) is None


@pytest.mark.parametrize("scheduler", ["Scheduler-1", "<scheduler>", "", "'; DROP TABLE x --"])
def test_a_cluster_is_found_by_its_project_and_scheduler_and_can_be_saved(
    project: Project, scheduler: str
) -> None:
    other = Project.objects.create(name="Other", slug="other")
    target = Target.objects.create(project=project, url="http://127.0.0.1:1")
    of = {"name": "etl", "scheduler_id": scheduler, "started": now(), "last_seen": now()}
    Cluster.objects.create(project=other, **of)
    cluster = Cluster.objects.create(project=project, target=target, **of)
    found = BY_SCHEDULER.find(project.pk, scheduler)
    assert found is not None
    assert fields(found) == fields(Cluster.objects.get(pk=cluster.pk))
    assert (found.project, found.target) == (project, target)
    found.name = "renamed"
    found.save(update_fields=["name"])
    assert Cluster.objects.get(pk=cluster.pk).name == "renamed"
    assert BY_SCHEDULER.find(project.pk, f"{scheduler}x") is None
