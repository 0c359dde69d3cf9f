"""What jobs of batch systems asked for and used, added up by project, on each day."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from observatory.clusters.models import Cluster
from observatory.runs.batch_jobs.kept import usage_in_window
from observatory.runs.models import Run, Usage
from observatory.runs.usage.counting import count_clusters, count_runs
from observatory.store.connection import read_connection
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.times import from_seconds
from tests.runs.batch_jobs.stored_jobs import GIB, START, make_run, slurm_job, store_worker
from tests.support.projects import World

pytestmark = pytest.mark.django_db(transaction=True)
DAY = from_seconds(START).date()


@pytest.fixture
def cluster(transactional_db: None, world: World) -> Iterator[Cluster]:
    """Two jobs of 16 GiB and 4 cores for 100 s, one of which used half of both, the other a quarter, beside a
    worker outside of them, and a job of which no amount is known."""
    cluster = world.ended
    Run.objects.filter(cluster=cluster).delete()
    for id, part, waited in (("1", 0.5, 30.0), ("2", 0.25, None)):
        job = slurm_job(id, started=START, waited=waited)
        store_worker(cluster, id, job, memory=16 * part, cores=4 * part, seconds=100)
    store_worker(cluster, "outside", None, memory=15.0, seconds=100, host="login")
    store_worker(
        cluster, "3", slurm_job("3", cores=None, memory=None, started=START, waited=60.0), seconds=100
    )
    Cluster.objects.filter(pk=cluster.pk).update(
        started=from_seconds(START), ended=from_seconds(START) + timedelta(seconds=100)
    )
    yield cluster
    delete_cluster(cluster.pk)


def usage(world: World, **query: str) -> Any:
    window = {"since": str(DAY), "until": str(DAY)}
    answer = world.client("viewer").get("/api/v1/usage", {**window, **query})
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_project_has_what_its_jobs_asked_for_used_and_waited(world: World, cluster: Cluster) -> None:
    count_clusters()
    total = usage(world)["total"]
    assert (total["jobs"], total["wait_seconds"]) == (3, 90)
    assert total["asked_core_seconds"] == pytest.approx(800)
    assert total["used_core_seconds"] == pytest.approx(300)
    assert total["asked_memory_seconds"] == pytest.approx(3_200 * GIB)
    assert total["used_memory_seconds"] == pytest.approx(1_200 * GIB)


def test_a_run_has_the_part_of_jobs_that_lies_in_it(world: World, cluster: Cluster) -> None:
    run = make_run(cluster, 50)
    run.tags = {"team": "a"}
    run.save()
    count_clusters()
    count_runs()
    [of_run, outside] = usage(world, by="tag", tag="team")["groups"]
    assert (of_run["key"], of_run["asked_core_seconds"]) == ("a", pytest.approx(400))
    assert outside["asked_core_seconds"] == pytest.approx(400)
    assert (of_run["jobs"], outside["jobs"]) == (3, 0)


def test_a_job_that_began_before_its_scheduler_counts_once(world: World, cluster: Cluster) -> None:
    """As where the scheduler runs in the job, too. A worker that comes later doesn't begin it again."""
    Usage.objects.all().delete()
    store_worker(cluster, "in", slurm_job("9", started=START - 60, waited=5.0), seconds=100)
    run = make_run(cluster, 100)
    assert run.contents["batch_jobs"]["usage"]["jobs"] == 4
    assert run.contents["batch_jobs"]["usage"]["wait_seconds"] == 95
    with read_connection() as reader:
        start = from_seconds(START)
        later = usage_in_window(reader, cluster.pk, start + timedelta(seconds=50), start + timedelta(hours=1))
    assert (later["jobs"], later["wait_seconds"]) == (0, 0)
    assert later["asked_core_seconds"] > 0


def test_workers_that_share_a_process_use_its_memory_once(world: World, cluster: Cluster) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE worker SET detail = detail || '{"process": "h/1"}' WHERE cluster_id = %s""",
            [cluster.pk],
        )
        cursor.execute(
            """UPDATE worker SET detail = jsonb_set(detail, '{batch_job,id}', '"1"')
               WHERE cluster_id = %s AND name IN ('1', '2')""",
            [cluster.pk],
        )
    count_clusters()
    total = usage(world)["total"]
    assert total["used_memory_seconds"] == pytest.approx(800 * GIB)
    assert total["asked_memory_seconds"] == pytest.approx(1_600 * GIB), "it is one job now"


def test_counting_a_cluster_without_jobs_has_none(world: World, cluster: Cluster) -> None:
    delete_workers = "DELETE FROM worker WHERE cluster_id = %s AND jsonb_exists(detail, 'batch_job')"
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM span WHERE cluster_id = %s", [cluster.pk])
        cursor.execute("DELETE FROM lane WHERE cluster_id = %s", [cluster.pk])
        cursor.execute(delete_workers, [cluster.pk])
    count_clusters()
    kept = Usage.objects.get(cluster=cluster, day=DAY, run=None)
    assert (kept.jobs, kept.asked_core_seconds, kept.used_memory_seconds) == (0, 0, 0)
    assert "usage-jobs" not in page(world)


def page(world: World, **query: str) -> str:
    window = {"since": str(DAY), "until": str(DAY), **query}
    return world.client("viewer").get("/usage/", window).content.decode()


def test_the_page_shows_asked_and_used_beside_each_other_and_so_does_the_csv(
    world: World, cluster: Cluster
) -> None:
    count_clusters()
    shown = page(world)
    table = shown[shown.index('id="usage-jobs"') :]
    assert "38 %" in table, "300 of 800 core seconds, and 1,200 of 3,200 GiB s"
    assert "13 min 20 s" in table
    [row] = csv.DictReader(io.StringIO(page(world, format="csv")))
    assert float(row["core hours asked"]) == pytest.approx(800 / 3_600)
    assert float(row["core hours used"]) == pytest.approx(300 / 3_600)
    assert float(row["memory GiB hours used"]) == pytest.approx(1_200 / 3_600)
    assert (row["jobs"], float(row["hours waited"])) == ("3", pytest.approx(90 / 3_600))
