"""Agents are watched: what they report of themselves, and why they are refused, is shown everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from observatory.clusters.models import Project
from observatory.clusters.tokens import ingest_refusals, ingest_tokens
from observatory.clusters.tokens.models import IngestToken
from observatory.runtime.health.checks import CheckResult, agents
from observatory.store.connection import connect
from observatory.store.queries.extents import row_estimates
from observatory.wire.head import AgentStatus
from tests.collect.test_ingest import Agent, agent, project
from tests.runtime.machine import eventually

__all__ = ["agent", "project"]

DROPPED = (1.7e9, 1.7e9 + 1, "sample", 499, "spool-full")
STATUS = AgentStatus("9.8.7", waiting=3, spooled=2, spooled_bytes=2048, failures=1)
FAMILY = re.compile(r"^# TYPE (observatory_\w+) (\w+)$", re.MULTILINE)


@pytest.fixture(autouse=True)
def nothing_recorded_yet() -> Iterator[None]:
    ingest_refusals._recorded.clear()
    yield
    ingest_refusals._recorded.clear()


@pytest.fixture
def page(project: Project, settings: Any) -> Client:
    """A superuser's browser."""
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    return client


def results() -> dict[str, CheckResult]:
    return {result.component: result for result in agents()}


def metrics(settings: Any) -> str:
    settings.METRICS_TOKEN = "sesame"
    return Client().get("/metrics", headers={"Authorization": "Bearer sesame"}).content.decode()


def test_the_figures_of_an_agent_are_shown(agent: Agent, page: Client, settings: Any) -> None:
    assert agent.send({"dropped": [DROPPED]}, status=STATUS) == 200
    assert agent.send({"dropped": [DROPPED]}, status=STATUS) == 200
    found = results()["agent of etl"]
    assert found.text.startswith("version 9.8.7, heard ")
    assert found.text.endswith("spooled 2.00 KiB, dropped 998 records")
    shown = page.get("/projects/ingest/").content.decode()
    for text in ("9.8.7", "3 batches", "2.00 KiB", "998 records"):
        assert text in shown, text
    body = metrics(settings)
    labels = f'agent="{agent.id}",cluster="etl",project="ingest"'
    for line in (
        f'observatory_agent_info{{{labels},version="9.8.7"}} 1.0',
        f"observatory_agent_spool_bytes{{{labels}}} 2048.0",
        f"observatory_agent_dropped_records_total{{{labels}}} 998.0",
        f"observatory_agent_failures_total{{{labels}}} 1.0",
    ):
        assert line in body, line


def test_what_an_older_agent_does_not_report_is_unknown(agent: Agent, page: Client, settings: Any) -> None:
    assert agent.send({}) == 200
    assert results()["agent of etl"].text.startswith("version unknown, heard ")
    assert "unknown" in page.get("/projects/ingest/").content.decode()
    assert "observatory_agent_spool_bytes{" not in metrics(settings)


def test_an_agent_that_is_behind_or_silent_is_a_failure(agent: Agent) -> None:
    assert agent.send({}, committed=agent.since) == 200
    assert not results()["agent of etl"].ok
    with connect() as connection:
        connection.execute("UPDATE agent SET committed = heard")
        assert results()["agent of etl"].ok
        connection.execute("UPDATE agent SET heard = now() - interval '1 minute'")
    assert not results()["agent of etl"].ok


def test_a_revoked_token_is_named_on_the_page_and_by_the_doctor(agent: Agent, page: Client) -> None:
    ingest_tokens.revoke(Project.objects.get(), IngestToken.objects.get().pk)
    assert agent.send({}) == 401
    found = results()["agents with the token nightly ETL"]
    assert "ago: the token is revoked (from 127.0.0.1)" in found.text
    assert "the token is revoked" in page.get("/projects/ingest/").content.decode()


def test_unknown_tokens_share_one_row_and_belong_to_no_project(agent: Agent, page: Client) -> None:
    for secret in ("obs_one", "obs_two"):
        agent.secret = secret
        assert agent.send({}) == 401
    assert "the token is unknown" in results()["agents"].text
    assert ingest_refusals.current().count() == 1
    assert "the token is unknown" not in page.get("/projects/ingest/").content.decode()


def test_another_version_of_the_format_is_named(agent: Agent, settings: Any) -> None:
    assert agent.send({}, version=7) == 422
    found = results()["agents with the token nightly ETL"]
    assert "this server reads batches of version 1, not 7" in found.text
    assert 'observatory_ingest_refused_batches_total{reason="batch"}' in metrics(settings)


def test_rows_of_agents_are_counted(agent: Agent, settings: Any) -> None:
    def spans() -> float:
        pattern = r'observatory_rows_total{collector="",kind="span",source="agent"} (\S+)'
        found = re.search(pattern, metrics(settings))
        return float(found[1]) if found else 0.0

    before = spans()
    assert agent.send({"span": [agent.span(number) for number in range(499)]}) == 200
    assert spans() - before == 499
    with connect() as connection:
        # PostgreSQL updates its statistics about once a second
        eventually(lambda: row_estimates(connection)["span"] >= 499, "stored rows are estimated")


def test_the_page_about_monitoring_lists_all_own_metrics(agent: Agent, settings: Any) -> None:
    agent.send({})
    Client().get("/healthz")
    families = {
        f"{name}_total" if type == "counter" and not name.endswith("_total") else name: type
        for name, type in FAMILY.findall(metrics(settings))
        if not name.endswith("_created")
    }
    listed = re.findall(r"^- `(observatory_\w+)` \((\w+)", Path("docs/running.md").read_text(), re.MULTILINE)
    # these need a running beat
    beat = {"observatory_celery_beat_age_seconds": "gauge"}
    assert families | beat == dict(listed)


def test_requests_are_counted_by_route(agent: Agent, settings: Any) -> None:
    agent.send({})
    body = metrics(settings)
    assert 'observatory_http_requests_total{method="POST",route="/api/v1/ingest",status="200"}' in body
    assert "process_resident_memory_bytes" in body
