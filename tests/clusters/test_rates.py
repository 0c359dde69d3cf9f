"""Rates of projects: for batches of agents, requests of links and exports."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from redis.exceptions import RedisError

from observatory.clusters.limits import rates
from observatory.clusters.limits.rates import EXPORTS, INGEST, LINKS, TooFast, statuses, take
from observatory.clusters.models import Project
from observatory.clusters.tokens import ingest_tokens
from observatory.exchange.models import Job
from observatory.runs.models import Permalink
from observatory.runs.sharing.links import make_link
from observatory.runtime.health.own_metrics import rate_metrics
from tests.support.projects import World

pytestmark = pytest.mark.django_db
AT = 1_800_000_000.0
"""begins a minute and an hour"""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    cache.clear()
    now = [AT]
    monkeypatch.setattr(rates, "time", SimpleNamespace(time=lambda: now[0]))
    return lambda seconds: now.__setitem__(0, AT + seconds)


def allow(project: Project, **limits: float) -> None:
    Project.objects.filter(pk=project.pk).update(**limits)
    project.refresh_from_db()


def test_what_is_beyond_a_rate_waits_for_the_next_window(
    world: World, clock: Callable[[float], None]
) -> None:
    allow(world.alpha, ingest_rate=1)
    take(INGEST, world.alpha, 2**20 - 1)
    take(INGEST, world.alpha, 5 * 2**20)  # one that is larger than all of a window has to pass some time
    clock(45)
    with pytest.raises(TooFast) as refused:
        take(INGEST, world.alpha, 1)
    assert refused.value.seconds == 15
    take(INGEST, world.beta, 2**30)
    clock(60)
    take(INGEST, world.alpha, 1)
    [status] = statuses(world.alpha)
    assert (status.used, status.limit, status.refused) == (1, 2**20, 1)


def test_without_a_limit_nothing_is_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "incr", lambda *_: pytest.fail("something was counted"))
    for rate in rates.RATES:
        take(rate, world.alpha, 2**40)
    assert list(statuses(world.alpha)) == []


def test_a_project_has_the_rate_of_the_setting_where_it_has_no_other(
    world: World, settings: Any, clock: Callable[[float], None]
) -> None:
    settings.PROJECT_EXPORT_RATE = 1
    allow(world.beta, export_rate=2)
    for project, most in ((world.alpha, 1), (world.beta, 2)):
        for _ in range(most):
            take(EXPORTS, project)
        with pytest.raises(TooFast):
            take(EXPORTS, project)


def test_without_redis_nothing_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    allow(world.alpha, link_rate=1)

    def fail(*_: Any) -> None:
        raise RedisError("away")

    monkeypatch.setattr(rates.cache, "add", fail)
    monkeypatch.setattr(rates.cache, "get_many", fail)
    for _ in range(3):
        take(LINKS, world.alpha)
    assert list(statuses(world.alpha)) == []


def test_an_agent_is_told_when_to_send_again(world: World, clock: Callable[[float], None]) -> None:
    allow(world.alpha, ingest_rate=0.001)
    _, secret = ingest_tokens.make(world.alpha, "agent", None)
    take(INGEST, world.alpha, 2**20)
    clock(20)
    for path, status in (("/api/v1/ingest", 429), ("/api/v1/ingest/prometheus", 503)):
        answer = Client().post(
            path, b"x", "application/octet-stream", headers={"Authorization": f"Bearer {secret}"}
        )
        assert answer.status_code == status, answer.content
        assert "batches of agents is reached" in answer.json()["detail"]
        assert int(answer["Retry-After"]) > 0
    assert world.alpha.ingest_tokens.get().refusals.count() == 0, "it is no error of the agent's"


def test_links_and_exports_beyond_a_rate_are_429_on_pages_and_in_the_api(
    world: World, clock: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("observatory.exchange.jobs.jobs.work.delay", lambda job: None)
    allow(world.alpha, link_rate=2, export_rate=1)
    link = make_link(Permalink(run=world.run, audience="anyone"), world.people["owner"])
    paths = [f"/r/{link.token}", f"/api/v1/r/{link.token}"]
    anybody, viewer = Client(), world.client("viewer")
    assert 429 not in [anybody.get(path).status_code for path in paths]
    for path in paths:
        answer = anybody.get(path)
        assert answer.status_code == 429
        assert answer["Retry-After"] == "60"
        assert "requests of links is reached" in answer.content.decode()
    export = {"format": "parquet"}
    assert viewer.post(f"/runs/{world.run.pk}/export/", export).status_code == 302
    answers = [
        viewer.post(f"/runs/{world.run.pk}/export/", export),
        viewer.post(f"/api/v1/runs/{world.run.pk}/exports", export, "application/json"),
    ]
    assert [(answer.status_code, answer["Retry-After"]) for answer in answers] == [(429, "3600")] * 2
    assert Job.objects.count() == 1
    page = viewer.get("/projects/alpha/").content.decode()
    assert "Requests of links: 2 of 2 in this minute; 2 refused." in page
    assert "Exports: 1 of 1 in this hour; 2 refused." in page
    samples = {
        (sample.name, sample.labels["rate"]): sample.value
        for metric in rate_metrics()
        for sample in metric.samples
    }
    assert samples[("observatory_project_rate_used", "links")] == 1.0
    assert samples[("observatory_project_rate_refused", "exports")] == 2


def test_only_superusers_set_rates(world: World) -> None:
    staff = world.people["owner"]
    staff.is_staff = True
    staff.save()
    path = f"/admin/clusters/project/{world.alpha.pk}/change/"
    assert 'name="link_rate"' in world.client("superuser").get(path).content.decode()
    assert 'name="link_rate"' not in world.client("owner").get(path).content.decode()
    assert 'name="link_rate"' not in world.client("owner").get("/projects/alpha/").content.decode()
