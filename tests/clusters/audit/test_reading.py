"""Owners read entries of their projects, superusers all: as a page, by the API, on the command line."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command

from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import AuditEntry, Project
from observatory.clusters.tokens import ingest_tokens
from observatory.exchange.models import Job
from observatory.store.audit.actor import Actor, acting
from tests.support.projects import HOSTILE, World

pytestmark = pytest.mark.django_db


def lines(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.content.decode().splitlines() if line]


@pytest.fixture
def noted(world: World) -> World:
    """Each project has an ingest token with the project's name."""
    with acting(lambda: Actor("person", "owner", world.people["owner"].pk, address="203.0.113.7")):
        for project in (world.alpha, world.beta):
            ingest_tokens.make(project, f"token of {project.slug}", None)
    return world


@pytest.mark.parametrize(
    ("role", "readable"),
    [
        ("superuser", {"token of alpha", "token of beta"}),
        ("owner", {"token of alpha"}),
        ("outsider", {"token of beta"}),
    ],
)
def test_owners_read_what_is_of_their_projects(noted: World, role: str, readable: set[str]) -> None:
    client = noted.client(role)
    found = lines(client.get("/api/v1/audit", {"kind": "ingest token"}))
    assert {line["subject"] for line in found} == readable
    page = client.get("/audit/").content.decode()
    for name in ("token of alpha", "token of beta"):
        assert (name in page) == (name in readable)


@pytest.mark.parametrize("role", ["viewer", "editor", "nobody"])
def test_nobody_else_reads_entries(noted: World, role: str) -> None:
    for path in ("/audit/", "/api/v1/audit", "/api/v1/audit?follow=true"):
        assert noted.client(role).get(path).status_code == 403


def test_an_owner_does_not_learn_of_another_project_from_an_entry_of_both(noted: World) -> None:
    with acting(lambda: Actor("person", "superuser")):
        AuditEntry.objects.create(
            actor_kind="person",
            action="change",
            kind="rule",
            projects=[noted.alpha.pk, noted.beta.pk],
        )
    [line] = lines(noted.client("owner").get("/api/v1/audit", {"kind": "rule"}))
    assert line["projects"] == ["alpha"]


def test_the_api_goes_on_after_a_line_and_filters(noted: World) -> None:
    client = noted.client("superuser")
    everything = lines(client.get("/api/v1/audit"))
    ids = [line["id"] for line in everything]
    assert ids == sorted(ids)
    in_pieces: list[dict[str, Any]] = []
    while piece := lines(
        client.get("/api/v1/audit", {"after": in_pieces[-1]["id"] if in_pieces else 0, "limit": 3})
    ):
        in_pieces += piece
    assert in_pieces == everything
    [line] = lines(client.get("/api/v1/audit", {"text": "TOKEN of beta"}))
    assert line["actor"]["address"] == "203.0.113.7"
    assert line["projects"] == ["beta"]
    assert lines(client.get("/api/v1/audit", {"text": "203.0.113.7", "project": "alpha"}))
    for query in ({"project": "no-such"}, {"action": "revoke"}, {"person": "zzz"}, {"until": 1}):
        assert lines(client.get("/api/v1/audit", query)) == []
    for query in ({"action": "x"}, {"limit": 0}, {"after": -1}, {"since": 1e300}):
        assert client.get("/api/v1/audit", query).status_code == 422, query


def test_hostile_text_is_shown_as_text(world: World) -> None:
    with acting(lambda: Actor("person", HOSTILE, address=HOSTILE, token=HOSTILE)):
        ingest_tokens.make(world.alpha, HOSTILE, None)
        Project.objects.filter(pk=world.alpha.pk).update(name=HOSTILE)
    page = world.client("owner").get("/audit/").content.decode()
    assert HOSTILE not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") > 4
    query = {"text": HOSTILE, "person": HOSTILE, "kind": HOSTILE, "project": HOSTILE, "since": HOSTILE}
    answer = world.client("owner").get("/audit/", query)
    assert answer.status_code == 200
    assert HOSTILE not in answer.content.decode()


def test_the_page_has_older_entries_and_says_when_there_is_none(world: World) -> None:
    owner = world.client("owner")
    for number in range(60):
        Membership.objects.filter(user=world.people["viewer"]).update(
            role="editor" if number % 2 else "viewer"
        )
    assert owner.get("/audit/", {"person": "nobody-like-this"}).content.decode().count("No entry matches")
    first = owner.get("/audit/").content.decode()
    [older] = [part.split('"')[0] for part in first.split("before=")[1:]]
    second = owner.get("/audit/", {"before": older}).content.decode()
    assert "Newest" in second
    assert "viewer</del>" in first
    assert "No more entries" in owner.get("/audit/", {"before": "1"}).content.decode()
    assert owner.get("/audit/", {"before": "9" * 40}).status_code == 200


def test_the_command_prints_what_the_api_answers(noted: World) -> None:
    out = io.StringIO()
    call_command("audit", "alpha", stdout=out)
    printed = [json.loads(line) for line in out.getvalue().splitlines()]
    assert printed == lines(noted.client("superuser").get("/api/v1/audit", {"project": "alpha"}))
    with pytest.raises(CommandError, match="no project 'gamma'"):
        call_command("audit", "gamma")


def test_a_download_is_noted_and_a_query_that_repeats_once_an_hour(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    cache.clear()
    file = tmp_path / "file"
    file.write_bytes(b"x")
    monkeypatch.setattr("observatory.exchange.jobs.folder.path_of", lambda number: file)
    job = Job.objects.create(
        kind="export",
        state="done",
        user=world.people["viewer"],
        run=world.run,
        project=world.alpha,
        format="parquet",
        file_name="nightly.zip",
    )
    viewer = world.client("viewer")
    for path in (f"/jobs/{job.pk}/download/", f"/api/v1/jobs/{job.pk}/file"):
        assert viewer.get(path, REMOTE_ADDR="203.0.113.5").status_code == 200
    found = AuditEntry.objects.filter(action="download", kind="export")
    assert list(found.values_list("actor_name", "subject", "door").order_by("pk")) == [
        ("viewer", "nightly.zip", "page"),
        ("viewer", "nightly.zip", "API"),
    ]
    for _ in range(3):
        answer = viewer.post("/api/v1/sql", json.dumps({"query": "SELECT 1"}), "application/json")
        assert answer.status_code == 200
    query = AuditEntry.objects.get(kind="query of SQL")
    assert (query.actor_name, query.projects) == ("viewer", [world.alpha.pk])
