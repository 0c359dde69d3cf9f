"""The first screen of a run: what happened, against its history, and its charts, without scrolling."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from observatory.runs.models import Note, Run
from observatory.runs.refresh import refresh_figures
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Sample, Series
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import GIB, START, Recorded, at

pytestmark = [pytest.mark.browser]

READY = "() => document.documentElement.dataset.ready === '1'"
WORKERS = ("tcp://10.0.0.1:4000", "tcp://10.0.0.1:4001")
THREADS = 2
LENGTH = 40.0
"""seconds of the run"""


@pytest.fixture
def run(world: World, recorded: Recorded) -> Run:
    """A run of 4 threads that is slower than earlier ones of its name, since a commit."""
    for number, worker in enumerate(WORKERS):
        recorded.worker(worker, f"w{number}", memory={second: 1 + second / 40 for second in range(40)})
        for second in range(20):
            for thread in range(THREADS):
                key = f"load-{number}{second}{thread}"
                recorded.span(key, worker, 2 * second, 2 * second + 1.8, thread=thread)
    managed = [
        Series(f"observatory_{of}_memory_bytes", (("type", "managed"),), worker)
        for of, worker in (("cluster", ""), ("worker", WORKERS[0]))
    ]
    samples = [Sample(one, START + second, second * GIB / 40) for one in managed for second in range(40)]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, [], [], samples))
    world.ended.started, world.ended.ended = at(-60), at(60)
    world.ended.save()
    for day in range(4):
        made(world, at(-86_400 * (4 - day)), 20.0 + day / 50, "aaa4")
    return made(world, at(0), LENGTH, "bbb0")


def made(world: World, start: datetime, seconds: float, git: str) -> Run:
    return Run.objects.create(
        cluster=world.ended,
        name=f"etl {HOSTILE}",
        origin=Run.Origin.CODE,
        outcome=Run.Outcome.FINISHED,
        start=start,
        stop=start + timedelta(seconds=seconds),
        tags={"git": git},
    )


def bottom(chart: Locator) -> float:
    box = chart.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def right(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None
    return box["x"] + box["width"]


def chart(page: Page, name: str) -> Locator:
    return page.locator(f"[data-chart={name}]")


def test_a_desktop_shows_headline_overview_task_stream_memory_progress_and_workers_at_once(
    page: Page, run: Run, complaints: list[str]
) -> None:
    page.goto(f"/runs/{run.pk}/")
    page.wait_for_function(READY)
    headline = page.locator("#run-headline")
    expect(headline).to_contain_text("Finished")
    expect(headline).to_contain_text("after 40.0 s")
    expect(headline).to_contain_text("100 % slower than usual since bbb0 (aaa4 before)")
    box = headline.bounding_box()
    assert box is not None
    assert box["height"] < 30, "it is one line"
    expect(page.locator("#run-card")).to_be_hidden()
    expect(chart(page, "progress").locator("dt")).to_have_text("load")
    expect(chart(page, "workers-now").locator("tbody tr")).to_have_count(2)
    stream = chart(page, "task-stream").locator(".task-stream").bounding_box()
    assert stream is not None
    assert stream["height"] >= 380
    for name in ("task-stream", "cluster-memory", "progress", "workers-now"):
        assert bottom(chart(page, name)) <= 1000, name
    assert page.evaluate("window.scrollY") == 0
    assert complaints == []


def test_a_phone_shows_the_headline_then_the_overview_then_the_task_stream(page: Page, run: Run) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/runs/{run.pk}/")
    page.wait_for_function(READY)
    places = [page.locator("#run-headline"), page.locator(".overview"), page.locator(".task-stream")]
    tops = [box["y"] for each in places if (box := each.bounding_box())]
    assert len(tops) == 3
    assert tops == sorted(tops)
    assert tops[-1] < 844 - 200, "its first rows are in sight"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    stream = chart(page, "task-stream")
    assert right(stream.locator(".legend-choice label")) <= right(stream.locator(".task-stream")) - 12


@pytest.mark.parametrize("width", [1600, 390])
def test_a_run_without_events_has_no_row_for_them_until_there_is_one(
    page: Page, run: Run, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"/runs/{run.pk}/")
    page.wait_for_function(READY)
    expect(chart(page, "task-stream")).to_be_visible()
    expect(chart(page, "events")).to_be_hidden()
    Note.objects.create(cluster=run.cluster, time=at(5), text="look here")
    page.reload()
    page.wait_for_function(READY)
    expect(chart(page, "events")).to_be_visible()


def test_the_strip_opens_to_the_card_and_stays_as_a_person_left_it(
    page: Page, run: Run, complaints: list[str]
) -> None:
    page.goto(f"/runs/{run.pk}/")
    page.wait_for_function(READY)
    card = page.locator("#run-card")
    page.locator("#run-strip > summary").press("Enter")
    expect(card).to_be_visible()
    page.wait_for_function("() => localStorage.getItem('run-card') === 'open'")
    page.goto(f"/runs/{run.pk}/?tab=memory")
    page.wait_for_function(READY)
    expect(card).to_be_visible()
    page.locator("#run-strip > summary").click()
    page.wait_for_function("() => localStorage.getItem('run-card') === 'folded'")
    page.reload()
    page.wait_for_function(READY)
    expect(card).to_be_hidden()
    assert complaints == []


@pytest.mark.parametrize("width", [1600, 1250, 390])
def test_the_histograms_of_the_card_stand_in_their_rows(page: Page, run: Run, width: int) -> None:
    refresh_figures(run)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"/runs/{run.pk}/")
    page.wait_for_function(READY)
    page.locator("#run-strip > summary").click()
    row = page.locator(".run-card-prefixes tbody tr")
    expect(row).to_have_count(1)
    words = row.locator("small")
    expect(words).to_contain_text("median")
    middles = [
        box["y"] + box["height"] / 2
        for part in (row.locator("th"), row.locator("svg"), words)
        if (box := part.bounding_box())
    ]
    assert len(middles) == 3
    assert max(middles) - min(middles) < 3


def test_panels_without_content_take_no_room_until_they_have_some(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}/")
    page.wait_for_function(READY)
    expect(chart(page, "progress")).to_be_visible()
    for name in ("selected-task", "notes", "alerts", "alerts-list", "stolen", "worker-memory", "gil"):
        expect(chart(page, name)).to_have_count(1)
        expect(chart(page, name)).to_be_hidden()
    page.evaluate(
        "() => { const { selection, model } = observatory.context;"
        " selection.set({ worker: [...model.workers.keys()][0], key: 'load-000' }); }"
    )
    expect(chart(page, "selected-task")).to_be_visible()
    expect(chart(page, "worker-memory")).to_be_visible()
    Note.objects.create(cluster=run.cluster, time=at(1), text="look here")
    page.reload()
    page.wait_for_function(READY)
    expect(chart(page, "notes")).to_contain_text("look here")


def test_a_chart_without_content_says_why_on_the_tab_of_its_subject(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}/?tab=contention")
    page.wait_for_function(READY)
    expect(chart(page, "gil").locator(".chart-empty")).to_be_visible()
    page.get_by_role("link", name="Status").click()
    expect(chart(page, "progress")).to_be_visible()
    expect(chart(page, "gil")).to_be_hidden()
    page.get_by_role("link", name="Contention").click()
    expect(chart(page, "gil").locator(".chart-empty")).to_be_visible()
