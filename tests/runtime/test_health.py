"""Health checks, metrics and `doctor`, also when something is wrong."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from redis import Redis

from observatory import __version__
from observatory.base.redis_server import RedisServer
from observatory.clusters.models import Project, Target
from observatory.collect.collector.collector_heartbeat import HEARTBEAT
from observatory.runtime.health import process_heartbeats as beats
from observatory.runtime.health import processes
from observatory.runtime.health.checks import CheckResult, run_checks
from tests.runtime.machine import manage


@pytest.fixture
def no_redis(settings: Any) -> None:
    settings.REDIS = RedisServer("redis://127.0.0.1:1/0")


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
    working = settings.REDIS
    caplog.clear()
    for server in (RedisServer("redis://127.0.0.1:1/0"), working):
        settings.REDIS = server
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


@pytest.fixture
def redis(settings: Any) -> Iterator[Redis]:
    client = beats.connect()
    client.flushdb()
    yield client
    client.flushdb()


def is_alive(process: str) -> bool:
    with pytest.raises(SystemExit) as ended:
        call_command("alive", process)
    return ended.value.code == 0


def test_a_collector_is_alive_while_the_one_of_its_own_host_has_a_heartbeat(redis: Redis) -> None:
    redis.set(f"{HEARTBEAT}another:7:x", json.dumps({"id": "another:7:x"}))
    assert not is_alive("collector")
    own = f"{socket.gethostname()[:60]}:7:x"
    redis.set(f"{HEARTBEAT}{own}", json.dumps({"id": own}))
    assert is_alive("collector")


def test_a_celery_worker_is_alive_while_it_answers(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PING_TIMEOUT", 0.2)
    assert not is_alive("worker")
    answering = [f"alerts@{socket.gethostname()}"]
    monkeypatch.setattr(processes, "ping", lambda timeout, workers: workers == answering)
    assert is_alive("alerts")
    assert not is_alive("worker")


def test_beat_is_restarted_only_where_a_worker_would_have_run_its_task(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PING_TIMEOUT", 0.2)
    assert is_alive("beat")  # nobody answers
    monkeypatch.setattr(processes, "ping", lambda timeout: True)
    assert not is_alive("beat")
    beats.write_beat(redis)
    assert is_alive("beat")


@pytest.mark.parametrize("process", processes.CHECKS)
def test_nothing_is_restarted_because_redis_is_away(process: str, no_redis: None) -> None:
    assert is_alive(process)
