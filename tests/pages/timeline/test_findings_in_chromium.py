"""The findings on the tab Why?: sentences that open to evidence, which leads to the timeline."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from observatory.runs.models import Run
from tests.support.recorded_cluster import START
from tests.why.findings.simulated import Simulated, Task, futures

pytestmark = [pytest.mark.browser]

HOSTILE = "work-<img src=x onerror=alert(1)>"
READY = "() => document.documentElement.dataset.ready === '1'"
PLAYHEAD = "() => observatory.context.timeline.playhead"


def test_a_finding_opens_to_evidence_that_leads_to_the_task(page: Page, complaints: list[str]) -> None:
    cluster = Simulated([*futures(60, 0.5), Task(HOSTILE, 9)]).record()
    page.goto(f"/clusters/{cluster.pk}/?tab=why&from={START}&to={START + 14}")
    page.wait_for_function(READY)
    panel = page.locator("[data-chart=findings]")
    summary = panel.locator("summary").filter(has_text="1 task of work took 9.00 s")
    expect(summary).to_contain_text("of threads")
    assert panel.bounding_box()["y"] < page.locator("[data-chart=task-stream]").bounding_box()["y"]  # type: ignore[index]
    summary.focus()
    page.keyboard.press("Enter")
    task = panel.get_by_role("button", name=HOSTILE, exact=True)
    expect(panel.get_by_role("link", name="Dask's documentation")).to_be_visible()
    task.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("key => observatory.context.selection.key === key", arg=HOSTILE)
    assert START < page.evaluate(PLAYHEAD) < START + 6
    assert complaints == []


def test_where_nothing_stands_out_the_panel_says_what_it_looked_for(page: Page) -> None:
    cluster = Simulated(futures(60, 0.5)).record()
    page.goto(f"/clusters/{cluster.pk}/?tab=why")
    page.wait_for_function(READY)
    panel = page.locator("[data-chart=findings]")
    expect(panel).to_contain_text("Nothing stands out in this window. It was searched for: ")
    expect(panel).to_contain_text("stragglers and skewed partitions")


@pytest.mark.django_db(transaction=True)
def test_a_finding_that_is_marked_by_keyboard_is_folded_and_comes_back(
    page: Page, complaints: list[str]
) -> None:
    cluster = Simulated([*futures(60, 0.5), Task(HOSTILE, 9)]).record()
    start, stop = (datetime.fromtimestamp(START + after, UTC) for after in (0, 14))
    run = Run.objects.create(
        cluster=cluster, name=HOSTILE, origin=Run.Origin.CUT, start=start, stop=stop, counted=stop
    )
    page.goto(f"/runs/{run.pk}/?tab=why")
    page.wait_for_function(READY)
    panel = page.locator("[data-chart=findings]")
    summary = panel.locator("summary").filter(has_text="1 task of work took 9.00 s")
    summary.press("Enter")
    known = panel.get_by_role("button", name="Known")
    expect(known).to_be_visible()
    known.press("Enter")
    fold = panel.locator("summary").filter(has_text="1 finding is marked as known or wrong")
    expect(fold).to_be_visible()
    expect(fold).to_be_focused()
    expect(summary).to_be_hidden()
    expect(panel).to_contain_text("Nothing else stands out in this window.")
    fold.press("Enter")
    expect(summary).to_be_visible()
    expect(panel).to_contain_text("Marked as known by ")
    panel.get_by_role("button", name="Undo").press("Enter")
    expect(fold).to_be_hidden()
    expect(panel).not_to_contain_text("Nothing else stands out")
    expect(summary).to_be_visible()
    assert complaints == []
