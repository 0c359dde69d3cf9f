"""Health checks, metrics and `doctor`, also when something is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from observatory import __version__
from observatory.clusters.models import Project, Target
from observatory.runtime.health.checks import CheckResult, run_checks
from tests.runtime.machine import manage


@pytest.fixture
def no_redis(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"


def findings() -> dict[str, CheckResult]:
    return {finding.component: finding for finding in run_checks()}


def test_alive_is_said_without_the_database(client: Client) -> None:
    # no django_db mark: a query would fail
    assert client.get("/healthz").status_code == 200


@pytest.mark.django_db
def test_what_is_not_ready_is_named(client: Client, no_redis: None) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "database": True,
        "migrations": True,
        "redis": False,
        "reason": "Redis does not answer",
    }


@pytest.mark.django_db
def test_a_change_of_readiness_is_logged_once(
    client: Client, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    client.get("/readyz")
    working = settings.REDIS_URL
    caplog.clear()
    for url in ("redis://127.0.0.1:1/0", working):
        settings.REDIS_URL = url
        for _ in range(3):
            client.get("/readyz")
    assert [record.message for record in caplog.records] == ["not ready: Redis does not answer", "ready"]


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
def test_metrics_and_pages_show_the_version(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN = "sesame"
    body = client.get("/metrics", headers={"Authorization": "Bearer sesame"}).content.decode()
    assert f'observatory_build_info{{version="{__version__}"}} 1.0' in body
    client.force_login(User.objects.create_user("ada"))
    assert f"Dask Observatory {__version__}" in client.get("/clusters/").content.decode()


@pytest.mark.django_db
def test_metrics_are_told_without_redis(client: Client, no_redis: None, settings: Any) -> None:
    settings.METRICS_TOKEN = "sesame"
    body = client.get("/metrics", headers={"Authorization": "Bearer sesame"}).content.decode()
    assert "observatory_collectors 0.0" in body


@pytest.mark.django_db
def test_the_doctor_says_what_to_do_where_nothing_runs(client: Client) -> None:
    found = findings()
    assert found["database"].ok
    assert not found["collector"].ok
    assert "dask-observatory collect" in found["collector"].remedy
    assert not found["celery"].ok
    assert "no worker answers" in found["celery"].text


@pytest.mark.django_db
def test_the_doctor_tells_which_target_cannot_be_reached() -> None:
    project = Project.objects.create(name="A", slug="a")
    Target.objects.create(project=project, name="etl", url="http://gone:8787", last_error="no answer")
    found = findings()["target etl"]
    assert (found.ok, found.text) == (False, "no answer")
    assert "http://gone:8787" in found.remedy


@pytest.mark.django_db
def test_the_doctor_warns_of_settings_that_are_for_one_machine(settings: Any) -> None:
    settings.DEBUG = True
    settings.ALLOWED_HOSTS = ["observatory.example.org"]
    found = findings()["settings"]
    assert not found.ok
    assert "OBSERVATORY_DEBUG" in found.remedy
    assert "OBSERVATORY_PUBLIC_URL" in found.remedy


def test_the_doctor_exits_with_1_and_without_a_traceback_when_nothing_answers(tmp_path: object) -> None:
    done = manage("doctor", "--data-dir", f"{tmp_path}/none")
    assert done.returncode == 1
    assert "✗ database: no answer" in done.stdout
    assert "✗ redis: no answer" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
