"""A project that stores more than its quota loses its oldest records, and no other project does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from django.conf import LazySettings
from prometheus_client.core import Metric

from observatory.clusters.models import Cluster, Project
from observatory.runs.models import Permalink, Run
from observatory.runs.retention import quotas
from observatory.runs.sharing.links import make_link
from observatory.runs.tasks import enforce_retention
from observatory.runtime.health import checks
from observatory.runtime.health.own_metrics import quota_metrics
from observatory.runtime.health.own_recording import own_metrics
from observatory.store.archive import catalogue, needed, presence
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.maintenance.stored_bytes import stored_bytes
from observatory.wire.records import Event, Sample, Series
from tests.store.archive.conftest import remove_unused
from tests.support.projects import World, world

__all__ = ["world"]

HOUR, DAY = 3_600.0, 86_400.0
NOW = 0.0
"""the beginning of this hour, when a test begins"""
GIB = 2.0**30


@pytest.fixture(autouse=True)
def connection(transactional_db: None) -> Iterator[psycopg.Connection]:
    global NOW
    NOW = datetime.now(UTC).timestamp() // HOUR * HOUR
    with connect() as connection:
        yield connection
        for (cluster,) in connection.execute("SELECT cluster_id FROM extent").fetchall():
            delete_cluster(cluster)
        for table in ("archive_piece", "archived_cluster", "archived_rows"):
            connection.execute(f"DELETE FROM {table}")
    needed.forget()


def write(cluster: Cluster, hours: range, rows: int = 100) -> None:
    """So many samples in each hour, counted back from now."""
    samples = [
        Sample(Series("m"), NOW - hour * HOUR + row, float(row)) for hour in hours for row in range(rows)
    ]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, samples=samples, events=[Event(NOW - 9 * DAY, "restarted")]))


def hours_left(connection: psycopg.Connection, cluster: Cluster) -> list[int]:
    """The hours of which samples are in the table, counted back from now."""
    rows = connection.execute(
        """SELECT DISTINCT ((%s - extract(epoch FROM date_trunc('hour', time))) / 3600)::int AS hour
           FROM sample WHERE cluster_id = %s ORDER BY hour""",
        [NOW, cluster.pk],
    )
    return [hour for (hour,) in rows]


def size_of(connection: psycopg.Connection, project: Project) -> int:
    return stored_bytes(connection, [cluster.pk for cluster in project.clusters.all()]).total


def limit(project: Project, share: float, connection: psycopg.Connection) -> int:
    """Give a project a quota of a share of what it stores."""
    quota = round(size_of(connection, project) * share)
    Project.objects.filter(pk=project.pk).update(quota_gib=quota / GIB)
    return quota


def test_the_oldest_records_beyond_a_quota_go_and_other_projects_keep_theirs(
    connection: psycopg.Connection, world: World
) -> None:
    write(world.live, range(5, 105))
    write(world.elsewhere, range(5, 105))
    quota = limit(world.alpha, 0.5, connection)
    enforce_retention()
    left = hours_left(connection, world.live)
    assert 40 <= len(left) <= 48
    assert left == list(range(5, 5 + len(left))), "the newest stay"
    assert len(hours_left(connection, world.elsewhere)) == 100
    assert size_of(connection, world.alpha) <= quota
    enforce_retention()
    assert hours_left(connection, world.live) == left, "what fits stays, whatever room the table takes"


def test_without_a_quota_everything_stays(connection: psycopg.Connection, world: World) -> None:
    write(world.live, range(5, 105))
    enforce_retention()
    assert len(hours_left(connection, world.live)) == 100
    world.alpha.refresh_from_db()
    assert world.alpha.stored_bytes is None


def test_the_quota_of_the_setting_holds_where_a_project_has_no_other(
    connection: psycopg.Connection, world: World, settings: LazySettings
) -> None:
    write(world.live, range(5, 105))
    write(world.elsewhere, range(5, 105))
    settings.PROJECT_QUOTA_GIB = size_of(connection, world.alpha) * 0.5 / GIB
    Project.objects.filter(pk=world.elsewhere.project_id).update(quota_gib=1_000)
    enforce_retention()
    assert len(hours_left(connection, world.live)) < 50
    assert len(hours_left(connection, world.elsewhere)) == 100


@pytest.mark.parametrize("kept", ["pinned", "link"])
def test_pinned_and_shared_runs_stay_and_count(
    kept: str, connection: psycopg.Connection, world: World
) -> None:
    write(world.live, range(5, 105))
    run = Run.objects.create(
        cluster=world.live,
        name="kept",
        origin=Run.Origin.CUT,
        start=datetime.fromtimestamp(NOW - 100 * HOUR, UTC),
        stop=datetime.fromtimestamp(NOW - 90 * HOUR, UTC),
        pinned=kept == "pinned",
    )
    if kept == "link":
        make_link(Permalink(run=run), world.people["editor"])
    quota = limit(world.alpha, 0.5, connection)
    enforce_retention()
    left = hours_left(connection, world.live)
    assert set(range(90, 101)) <= set(left)
    others = [hour for hour in left if hour < 89]
    assert 25 <= len(others) <= 38
    assert others == list(range(5, 5 + len(others)))
    assert size_of(connection, world.alpha) <= quota


def test_a_project_at_its_limit_goes_on_ingesting(connection: psycopg.Connection, world: World) -> None:
    write(world.live, range(5, 105))
    quota = limit(world.alpha, 0.5, connection)
    for hours in (range(4, 5), range(3, 4), range(2, 3), range(2)):
        enforce_retention()
        write(world.live, hours, rows=2_000)
        assert set(hours) <= set(hours_left(connection, world.live))
    enforce_retention()
    assert 0 in hours_left(connection, world.live), "the last hour stays"
    Project.objects.filter(pk=world.alpha.pk).update(quota_gib=quota / GIB / 100)
    enforce_retention()
    assert 0 in hours_left(connection, world.live)
    assert max(hours_left(connection, world.live)) <= 1


@pytest.mark.parametrize("has_left", [False, True], ids=["in both", "in the archive alone"])
def test_archived_days_of_a_project_beyond_its_quota_go_with_their_files(
    has_left: bool, connection: psycopg.Connection, world: World, settings: LazySettings, tmp_path: Path
) -> None:
    settings.ARCHIVE = str(tmp_path)
    write(world.ended, range(48, 24 * 12))
    write(world.elsewhere, range(5, 24 * 12))
    archive_round()
    if has_left:
        assert remove_unused(connection, world.ended.pk)
    quota = limit(world.alpha, 0.6, connection)
    before = {piece.start for piece in catalogue.pieces(connection, world.ended.pk) if piece.kind == "sample"}
    enforce_retention()
    archive_round()
    after = {piece.start for piece in catalogue.pieces(connection, world.ended.pk) if piece.kind == "sample"}
    assert after < before
    assert min(before) not in after
    assert max(before) in after
    assert size_of(connection, world.alpha) <= quota
    assert ("sample" in presence.removed_kinds(connection, world.ended.pk)) == has_left
    assert len(hours_left(connection, world.elsewhere)) == 24 * 12 - 5


def test_page_api_doctor_metrics_and_the_rule_warn_before(
    connection: psycopg.Connection, world: World
) -> None:
    write(world.live, range(5, 105))
    quota = limit(world.alpha, 1.2, connection)
    client = world.client("editor")
    assert "The project may store" in client.get("/projects/alpha/").content.decode()
    assert checks.quotas().ok
    enforce_retention()
    assert len(hours_left(connection, world.live)) == 100
    page = client.get("/projects/alpha/").content.decode()
    assert "of the project&#x27;s quota of" in page
    assert "beyond it the oldest records go" in page
    [project] = [each for each in client.get("/api/v1/projects").json() if each["slug"] == "alpha"]
    assert project["quota_bytes"] == quota
    assert 0.8 * quota < project["stored_bytes"] < 0.9 * quota
    found = checks.quotas()
    assert not found.ok
    assert found.text.startswith("alpha has used 83% of ")
    assert _values(quota_metrics()) == {
        "observatory_project_stored_bytes": project["stored_bytes"],
        "observatory_project_quota_bytes": quota,
    }
    [(labels, used)] = [
        (series.labels, value)
        for series, value in own_metrics()
        if series.metric == "observatory_project_quota_ratio"
    ]
    assert labels == (("project", "alpha"),)
    assert 0.8 < used < 0.9
    Project.objects.filter(pk=world.alpha.pk).update(quota_gib=1_000)
    assert checks.quotas().ok
    assert "beyond it" not in client.get("/projects/alpha/").content.decode()


def _values(metrics: Iterator[Metric]) -> dict[str, float]:
    return {sample.name: sample.value for metric in metrics for sample in metric.samples}


def test_only_superusers_set_a_quota(world: World) -> None:
    project = world.alpha
    form = {
        "name": "Alpha", "slug": "alpha", "retention_days": 30, "run_idle_seconds": 60, "quota_gib": "500",
        "thread_hour_price": 0, "gib_hour_price": 0, "worker_hour_price": 0, "currency": "",
        "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0,
    }  # fmt: skip
    client = world.client("owner")
    client.post(f"/admin/clusters/project/{project.pk}/change/", form)
    client.post("/projects/alpha/", form)
    project.refresh_from_db()
    assert project.quota_gib is None
    client = world.client("superuser")
    assert client.post(f"/admin/clusters/project/{project.pk}/change/", form).status_code == 302
    project.refresh_from_db()
    assert project.quota_gib == 500
    client.post(f"/admin/clusters/project/{project.pk}/change/", {**form, "quota_gib": "0"})
    project.refresh_from_db()
    assert project.quota_gib == 500
    assert quotas.full_projects() == []
