"""A database that answers and stores nothing: everything that says how Observatory does says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from observatory.alerts.models import Channel
from observatory.alerts.secrets import encrypt
from observatory.clusters.live.status import target_status
from observatory.clusters.models import Project, Target
from observatory.collect.quarantine.folder import put
from observatory.runtime.health.checks import own_faults, quarantine, run_checks
from observatory.runtime.health.own_alert import HOLD, OwnAlert
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.outages.write_probe import write_fault
from observatory.wire.records import Event
from tests.alerts.notifying.receivers import WEBHOOK, receiving
from tests.support.outages import fresh_storage_faults, read_only_database

__all__ = ["fresh_storage_faults"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("new_connections", "fresh_storage_faults"),
]


def ready_of(client: Client) -> tuple[int, Any]:
    answer = client.get("/readyz")
    return answer.status_code, answer.json().get("reason")


def test_doctor_readiness_and_metrics_see_that_the_database_is_read_only(
    client: Client, settings: Any
) -> None:
    settings.METRICS_TOKEN = "sesame"
    headers = {"Authorization": "Bearer sesame"}
    Client().get("/readyz")
    with read_only_database():
        found = {result.component: result for result in run_checks()}
        assert found["database"].text == "it is read-only, nothing is recorded"
        assert ready_of(client) == (503, "the database: it is read-only")
        metrics = client.get("/metrics", headers=headers).content.decode()
        assert 'observatory_ready{component="database"} 0.0' in metrics
        assert [fault.component for fault in own_faults()] == ["database"]
        assert target_status(Target(enabled=True)).word == "not-stored"
    assert ready_of(client) == (200, None)
    metrics = client.get("/metrics", headers=headers).content.decode()
    assert 'observatory_ready{component="database"} 1.0' in metrics


def test_channels_are_notified_that_the_database_is_read_only() -> None:
    alert, began = OwnAlert(), now()
    with receiving(WEBHOOK) as webhook:
        Channel.objects.create(name="all", kind="webhook", secret=encrypt(webhook.url))
        alert.update(own_faults(), began)
        with read_only_database():
            for after in (1, 2, 3):
                alert.update(own_faults(), began + after * HOLD)
        alert.update([], began + 4 * HOLD)
    assert [body["status"] for body in webhook.bodies] == ["firing", "resolved"]
    assert "database: it is read-only" in webhook.bodies[0]["alerts"][0]["annotations"]["summary"]
    alert.close()


@contextmanager
def changed(change: str, undo: str) -> Iterator[None]:
    with connect() as administrator:
        administrator.execute(change)
        try:
            yield
        finally:
            administrator.execute(undo)


def test_a_missing_table_is_named() -> None:
    assert write_fault() == ""
    with changed("ALTER TABLE log RENAME TO elsewhere", "ALTER TABLE elsewhere RENAME TO log"):
        assert write_fault() == 'relation "log" does not exist'


def test_a_right_that_is_missing_is_named(settings: Any) -> None:
    for statement in (
        "DROP ROLE IF EXISTS observatory_tests_limited",
        "CREATE ROLE observatory_tests_limited LOGIN PASSWORD 'tests'",
        "GRANT USAGE ON SCHEMA public TO observatory_tests_limited",
        "GRANT INSERT ON ALL TABLES IN SCHEMA public TO observatory_tests_limited",
        "REVOKE INSERT ON transition FROM observatory_tests_limited",
    ):
        with connect() as administrator:
            administrator.execute(statement)
    usual = settings.DATABASES["default"]
    try:
        limited = {**usual, "USER": "observatory_tests_limited", "PASSWORD": "tests"}
        settings.DATABASES = {"default": limited}
        assert write_fault() == "permission denied for table transition"
    finally:
        settings.DATABASES = {"default": usual}
        with connect() as administrator:
            administrator.execute("DROP OWNED BY observatory_tests_limited")
            administrator.execute("DROP ROLE observatory_tests_limited")


def test_the_probe_leaves_nothing() -> None:
    assert write_fault() == ""
    with connect() as session:
        assert session.execute("SELECT count(*) FROM late WHERE cluster_id = 0").fetchone() == (0,)


def test_a_page_that_has_to_store_something_says_that_the_database_is_unavailable(client: Client) -> None:
    User.objects.create_user("ada", password="a long password")
    given = {"username": "ada", "password": "a long password"}
    client.raise_request_exception = False
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    answer = client.post(reverse("sign-in"), given)
    assert (answer.status_code, answer.headers.get("Retry-After")) == (503, "5")
    connection.close_if_unusable_or_obsolete()
    assert client.post(reverse("sign-in"), given).status_code == 302


def test_django_s_sessions_that_began_read_only_are_replaced() -> None:
    Project.objects.create(name="First", slug="first")
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    with pytest.raises(DatabaseError) as caught:
        Project.objects.create(name="Second", slug="second")
    assert isinstance(caught.value.__cause__, psycopg.errors.ReadOnlySqlTransaction)
    connection.close_if_unusable_or_obsolete()
    Project.objects.create(name="Third", slug="third")
    assert set(Project.objects.filter(is_own=False).values_list("slug", flat=True)) == {"first", "third"}


def test_the_doctor_names_the_quarantine_and_says_what_to_do(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    assert quarantine().ok
    put(Batch.of(1, events=[Event(1.7e9, "restarted")]), RuntimeError("an error\nof two lines"))
    found = {result.component: result for result in run_checks()}["quarantine"]
    assert not found.ok
    assert f"{tmp_path}/quarantine: 1 on " in found.text
    assert "dask-observatory quarantine" in found.remedy
