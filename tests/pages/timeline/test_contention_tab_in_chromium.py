"""The Contention tab: where the time of tasks went."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from observatory.clusters.models import Cluster
from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.windows.fine_performance import METRIC
from observatory.wire.records import Action, MetricType, Sample, Series, Span
from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser]

READY = "() => document.documentElement.dataset.ready === '1'"
WORKER = "tcp://10.0.0.1:4000"
HOSTILE = "<img src=x onerror=alert(1)>"


def sample(prefix: str, activity: str, unit: str, value: float) -> Sample:
    labels = {"activity": activity, "context": "execute", "prefix": prefix, "unit": unit}
    return Sample(Series(METRIC, tuple(labels.items()), "", MetricType.COUNTER), START + 20, value)


@pytest.fixture
def run(world: World, recorded: Recorded) -> Run:
    recorded.worker(WORKER, "w0")
    cluster: Cluster = world.ended
    spans = [
        Span(WORKER, 1, f"{name}-1", name, name, Action.COMPUTE, START + 1, START + 30, 1, "int")
        for name in ("fold", HOSTILE)
    ]
    samples = [
        sample("fold", "thread-noncpu", "seconds", 8),
        sample("fold", "thread-cpu", "seconds", 0.002),
        sample(HOSTILE, "disk-write", "seconds", 1),
        sample(HOSTILE, "disk-write", "bytes", 2048),
    ]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, spans=spans, samples=samples))
    recorded.agent()
    cluster.started, cluster.ended = at(-60), at(60)
    cluster.save()
    return Run.objects.create(
        cluster=cluster, name="evening", start=at(0), stop=at(40), origin="found", outcome="finished"
    )


def test_one_click_from_a_run_says_where_the_time_of_tasks_went(
    page: Page, run: Run, complaints: list[str]
) -> None:
    page.goto(f"/runs/{run.pk}/")
    page.wait_for_function(READY)
    page.get_by_role("link", name="Contention", exact=True).click()
    table = page.get_by_role("table", name="fine performance metrics")
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_have_text("foldthread-noncpu8.00 s89 %")
    expect(rows.last).to_contain_text("< 0.1 %")
    lefts = "bars => bars.map(bar => bar.getBoundingClientRect().left)"
    assert len(set(rows.locator(".share-track").evaluate_all(lefts))) == 1, "bars are aligned"
    rows.first.get_by_role("button", name="fold").click()
    expect(rows.first.get_by_role("button", name="fold")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="bytes", exact=True).click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(HOSTILE)
    expect(rows).to_contain_text("2.00 KiB")
    page.get_by_role("button", name="Dask spans", exact=True).click()
    expect(page.get_by_text("No bytes were recorded in this window.")).to_be_visible()
    assert complaints == []
