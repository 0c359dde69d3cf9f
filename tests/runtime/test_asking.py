"""What machines and `doctor` are told when something is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from observatory.clusters.models import Project, Target
from observatory.runtime.health.components import Finding, all_findings
from tests.runtime.machine import manage


@pytest.fixture
def no_redis(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"


def findings() -> dict[str, Finding]:
    return {finding.component: finding for finding in all_findings()}


def test_alive_is_said_without_the_database(client: Client) -> None:
    # no django_db mark: a query would fail
    assert client.get("/healthz").status_code == 200


@pytest.mark.django_db
def test_what_is_not_ready_is_named(client: Client, no_redis: None) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"database": True, "migrations": True, "redis": False}


@pytest.mark.django_db
def test_metrics_are_for_who_has_the_token(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN = "sesame"
    assert client.get("/metrics").status_code == 403
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 403
    assert client.get("/metrics", headers={"Authorization": "Bearer sesame"}).status_code == 200


@pytest.mark.django_db
def test_without_a_token_metrics_are_for_nobody(client: Client) -> None:
    refused = client.get("/metrics", REMOTE_ADDR="127.0.0.1")
    assert refused.status_code == 403
    assert b"OBSERVATORY_METRICS_TOKEN" in refused.content
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 403


@pytest.mark.django_db
def test_metrics_are_told_without_redis(client: Client, no_redis: None, settings: Any) -> None:
    settings.METRICS_TOKEN = "sesame"
    body = client.get("/metrics", headers={"Authorization": "Bearer sesame"}).content.decode()
    assert "observatory_collectors 0.0" in body


@pytest.mark.django_db
def test_the_doctor_says_what_to_do_where_nothing_runs(client: Client) -> None:
    found = findings()
    assert found["database"].fine
    assert not found["collector"].fine
    assert "manage.py collect" in found["collector"].remedy
    assert not found["celery"].fine
    assert "no worker answers" in found["celery"].text


@pytest.mark.django_db
def test_the_doctor_tells_which_target_cannot_be_reached() -> None:
    project = Project.objects.create(name="A", slug="a")
    Target.objects.create(project=project, name="etl", url="http://gone:8787", last_error="no answer")
    found = findings()["target etl"]
    assert (found.fine, found.text) == (False, "no answer")
    assert "http://gone:8787" in found.remedy


@pytest.mark.django_db
def test_the_doctor_warns_of_settings_that_are_for_one_machine(settings: Any) -> None:
    settings.DEBUG = True
    settings.ALLOWED_HOSTS = ["observatory.example.org"]
    found = findings()["settings"]
    assert not found.fine
    assert "OBSERVATORY_DEBUG" in found.remedy
    assert "OBSERVATORY_PUBLIC_URL" in found.remedy


def test_the_doctor_exits_with_1_and_without_a_traceback_when_nothing_answers(tmp_path: object) -> None:
    done = manage("doctor", "--data-dir", f"{tmp_path}/none")
    assert done.returncode == 1
    assert "✗ database: no answer" in done.stdout
    assert "✗ redis: no answer" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
