"""A retention that is shortened deletes nothing for a day, says what it will, and is cancelled by setting
it back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.utils.timezone import now as our_now

from observatory.clusters.models import Cluster, Project
from observatory.runs.models import Permalink
from observatory.runs.retention.shorter_retention import shorter_retention
from observatory.runs.sharing.link_tokens import stored
from observatory.runs.tasks import enforce_retention
from observatory.store.connection import connect
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.times import from_seconds
from tests.runs.test_retention import DAY, counts, make_run, record
from tests.store.maintenance.test_retention import each
from tests.support.projects import World, world

__all__ = ["world"]


@pytest.fixture
def connection(transactional_db: None) -> Iterator[psycopg.Connection]:
    with connect() as connection:
        yield connection


@pytest.fixture
def recorded(
    connection: psycopg.Connection, world: World, writer: Writer, now: float, make: Any
) -> Iterator[tuple[Cluster, Cluster]]:
    """A cluster of Alpha and one of Beta, with 3 records of every kind 20 days ago, 2 of 10 days ago and 1
    of yesterday."""
    clusters = tuple(
        Cluster.objects.create(
            project=project,
            scheduler_id="s",
            name="c",
            started=from_seconds(now),
            last_seen=from_seconds(now),
        )
        for project in (world.alpha, world.beta)
    )
    for cluster in clusters:
        for days, number in ((20, 3), (10, 2), (1, 1)):
            record(writer, cluster, now - days * DAY, number, make)
    yield clusters[0], clusters[1]
    for cluster in clusters:
        delete_cluster(cluster.pk)


def shorten(world: World, days: int, role: str = "owner") -> Any:
    form = {"name": "Alpha", "retention_days": days, "run_idle_seconds": 60, "currency": ""}
    form |= {"thread_hour_price": 0, "gib_hour_price": 0, "worker_hour_price": 0}
    answer = world.client(role).post("/projects/alpha/", form)
    assert answer.status_code == 302, answer.content
    return world.client(role).get("/projects/alpha/").content.decode()


def a_day_passes(project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(longer_until=our_now() - timedelta(seconds=1))


def test_nothing_goes_for_a_day_and_then_what_was_told(
    connection: psycopg.Connection, world: World, recorded: tuple[Cluster, Cluster], now: float
) -> None:
    own, other = recorded
    make_run(own, now - 20 * DAY, now - 20 * DAY + 60)
    make_run(own, now - 1 * DAY, now - 1 * DAY + 60)
    page = shorten(world, 15)
    kinds = len(each(1))
    assert f"deletes {3 * kinds} records from before" in page
    assert "of 1 cluster and 1 run" in page
    enforce_retention()
    assert counts(connection, own) == each(6)
    a_day_passes(world.alpha)
    assert "Retention was shortened" not in world.client("owner").get("/projects/alpha/").content.decode()
    enforce_retention()
    assert counts(connection, own) == each(3)
    assert counts(connection, other) == each(6)


def test_setting_it_back_cancels_it(
    connection: psycopg.Connection, world: World, recorded: tuple[Cluster, Cluster]
) -> None:
    assert "Set it back to 30 days" in shorten(world, 5)
    assert world.client("viewer").post("/projects/alpha/retention/back/").status_code == 403
    assert world.client("owner").post("/projects/alpha/retention/back/").status_code == 302
    project = Project.objects.get(slug="alpha")
    assert (project.retention_days, project.longer_until) == (30, None)
    assert "Retention was shortened" in shorten(world, 5)
    assert "Retention was shortened" not in shorten(world, 30)
    enforce_retention()
    assert counts(connection, recorded[0]) == each(6)


def test_in_the_admin_it_waits_and_says_so(
    connection: psycopg.Connection, world: World, recorded: tuple[Cluster, Cluster]
) -> None:
    form = {"name": "Alpha", "slug": "alpha", "retention_days": 5, "run_idle_seconds": 60}
    form |= {"thread_hour_price": 0, "gib_hour_price": 0, "worker_hour_price": 0, "currency": ""}
    form |= {"memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}
    address = f"/admin/clusters/project/{world.alpha.pk}/change/"
    page = world.client("superuser").post(address, form, follow=True).content.decode()
    assert "The shorter retention takes effect on" in page
    assert "/projects/alpha/" in page
    enforce_retention()
    assert counts(connection, recorded[0]) == each(6)


def test_records_of_pinned_and_shared_runs_are_not_told_because_they_stay(
    connection: psycopg.Connection, world: World, recorded: tuple[Cluster, Cluster], now: float
) -> None:
    own, _ = recorded
    make_run(own, now - 20 * DAY, now - 20 * DAY + 60, pinned=True)
    shared = make_run(own, now - 10 * DAY, now - 10 * DAY + 60)
    Permalink.objects.create(run=shared, **stored("a"))
    shorten(world, 5)
    found = shorter_retention(Project.objects.get(slug="alpha"))
    assert found is not None
    assert (found.records, found.runs) == (0, 0)
    a_day_passes(world.alpha)
    enforce_retention()
    assert counts(connection, own) == each(6)


def test_a_further_shortening_waits_another_day_and_a_longer_one_does_not(world: World) -> None:
    project = world.alpha

    def set_to(days: int) -> tuple[int, int | None]:
        project.retention_days = days
        project.save()
        project.refresh_from_db()
        return project.effective_retention_days, project.longer_retention_days

    assert set_to(20) == (30, 30)
    hour = timedelta(hours=1)
    Project.objects.filter(pk=project.pk).update(longer_until=our_now() + hour)
    project.refresh_from_db()
    assert set_to(25) == (30, 30)
    assert project.longer_until is not None
    assert project.longer_until <= our_now() + hour
    assert set_to(10) == (30, 30)
    assert project.longer_until > our_now() + 23 * hour
    a_day_passes(project)
    project.refresh_from_db()
    assert project.effective_retention_days == 10
    assert set_to(5) == (10, 10)
    assert set_to(40) == (40, None)


def test_saving_something_else_does_not_shorten_nor_cancel(world: World) -> None:
    project = world.alpha
    project.retention_days = 5
    project.save(update_fields=["retention_days"])
    project.refresh_from_db()
    until = project.longer_until
    assert project.is_shortened
    project.name = "Other"
    project.save()
    project.refresh_from_db()
    assert (project.longer_until, project.effective_retention_days) == (until, 30)


def test_agents_may_send_what_the_longer_retention_keeps(world: World) -> None:
    from observatory.collect.agents.storing import _source_limit
    from observatory.wire.head import Head

    world.alpha.retention_days = 2
    world.alpha.save()
    started = our_now().timestamp() - 40 * DAY
    head = Head("0" * 32, 1, "s", "", "", started, started, 0.0)
    cluster = Cluster(project=world.alpha, started=from_seconds(started))
    limit = _source_limit(cluster, world.alpha, head)
    assert limit.earliest < our_now().timestamp() - 29 * DAY
