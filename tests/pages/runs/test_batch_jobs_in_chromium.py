"""The batch jobs of a run open on its card, and fit on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from observatory.clusters.models import Cluster
from observatory.runs.usage.counting import count_clusters
from tests.runs.batch_jobs.stored_jobs import make_run, slurm_job, store_worker
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import Recorded

pytestmark = [pytest.mark.browser]
FITS = "() => document.documentElement.scrollWidth <= window.innerWidth"


def store(cluster: Cluster) -> None:
    for number in range(3):
        job = slurm_job(f"20_{number}", array="20", waited=30.0 * (number + 1), node=f"node{number}")
        store_worker(cluster, f"w{number}", job, memory=2.0 + number, cores=1.3, host=f"node{number}")
    store_worker(cluster, "other", slurm_job("21", name=HOSTILE, queue="long", memory=None, option=""))


@pytest.mark.parametrize("width", [1600, 390])
def test_the_jobs_of_a_run_open_on_its_card(
    width: int, page: Page, recorded: Recorded, world: World, complaints: list[str]
) -> None:
    store(world.ended)
    run = make_run(world.ended)
    page.set_viewport_size({"width": width, "height": 1000})
    page.goto(f"/runs/{run.pk}/")
    page.locator("#run-strip > summary").click()
    jobs = page.locator(".run-card-jobs")
    expect(jobs.locator("> summary")).to_contain_text(
        "4 jobs of Slurm: --mem=6G would have been enough, peak 4.00 GiB of 16.0 GiB"
    )
    jobs.locator("> summary").click()
    expect(jobs.locator("tbody tr")).to_have_count(4)
    expect(jobs.locator("tbody tr").nth(1)).to_contain_text("20_1")
    said = "2 cores would have been enough: the most cores used for five seconds were 1.3"
    expect(jobs).to_contain_text(said)
    expect(jobs).to_contain_text(HOSTILE)
    assert page.evaluate(FITS)
    assert complaints == []


def test_usage_has_what_they_asked_for(
    page: Page, recorded: Recorded, world: World, complaints: list[str]
) -> None:
    store(world.ended)
    Cluster.objects.filter(pk=world.ended.pk).update(ended=None)
    count_clusters()
    page.set_viewport_size({"width": 390, "height": 1000})
    page.goto("/usage/?since=2026-05-28&until=2026-05-30")
    table = page.locator("#usage-jobs")
    expect(table.locator("tbody")).to_contain_text("GiB h")
    expect(table.locator("tbody tr td").nth(1)).to_contain_text("4")
    assert page.evaluate(FITS)
    assert complaints == []
