"""The tab Profile of a run with attached files: their track, and their flame graph."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from observatory.exchange.attachments.attach import Placement, attach
from observatory.runs.models import Run
from observatory.store.times import from_seconds
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import START, Recorded

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FILES = Path(__file__).parents[2] / "exchange/profiles"
NAMED = re.compile(r"^Attached profiles and traces: MainProcess process \d+ · .*w0 · \d+")
READY = "() => document.documentElement.dataset.ready === '1'"


@pytest.fixture
def run(recorded: Recorded, world: World, tmp_path: Path) -> Run:
    """A run of 20 s with viztracer's file after 5 s, and py-spy's, of the worker w0, after 10 s."""
    recorded.worker("tcp://10.0.0.1:4000", "w0")
    recorded.span("load-1", "tcp://10.0.0.1:4000", 1, 19)
    recorded.agent()
    run = Run.objects.create(
        cluster=world.ended,
        name="etl",
        origin="cut",
        outcome="finished",
        start=from_seconds(START),
        stop=from_seconds(START + 20),
    )
    named = tmp_path / "named.json"
    named.write_text(
        gzip.decompress((FILES / "viztracer.json.gz").read_bytes()).decode().replace("slow.<locals>", HOSTILE)
    )
    for path, name, placement in (
        (named, f"{HOSTILE}.json", Placement(from_seconds(START + 5))),
        (FILES / "py-spy-chrometrace.json.gz", "trace.json", Placement(from_seconds(START + 10), "w0")),
    ):
        attach(path, name, run, placement, None, lambda done: None)
    return run


def test_attached_files_lie_on_the_timeline_and_have_a_flame_graph(
    run: Run, page: Page, complaints: list[str]
) -> None:
    page.goto(f"/runs/{run.pk}/?tab=profile")
    page.wait_for_function(READY)
    track = page.locator("[data-chart=attached-files]")
    canvas = track.locator("canvas")
    expect(canvas).to_have_attribute("aria-label", NAMED)
    flames = page.locator("[data-chart=profile]")
    flames.locator("select").first.select_option("files")
    heading = flames.locator(".flame-heading").first
    expect(heading).to_contain_text("of attached files")
    expect(flames.locator(".flame-table")).to_contain_text("inner")
    expect(flames.locator(".flame-table")).to_contain_text(HOSTILE)
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 300, box["y"] + 2.5 * 20)  # the third thread, of w0
    expect(heading).to_contain_text("of attached files of worker")
    expect(flames.locator(".flame-table")).not_to_contain_text(HOSTILE)
    assert complaints == []


def test_a_run_without_attached_files_has_no_track_of_them(run: Run, page: Page) -> None:
    run.attachments.all().delete()
    Run.objects.filter(pk=run.pk).update(attached_files=0)
    page.goto(f"/runs/{run.pk}/?tab=profile")
    page.wait_for_function(READY)
    expect(page.locator("[data-chart=profile] canvas").first).to_be_attached()
    expect(page.locator("[data-chart=attached-files]")).to_have_count(0)
    expect(page.locator("[data-chart=profile] option[value=files]")).to_have_count(0)
