"""The tabs of a timeline: other charts of the same window, playhead and selection."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from observatory.clusters.models import Cluster
from observatory.replay.tabs import TABS
from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser]

READY = "() => document.documentElement.dataset.ready === '1'"
CHARTS = "() => [...document.querySelectorAll('[data-chart]')].map((panel) => panel.dataset.chart)"
VIEW = """() => {
  const { timeline, selection } = observatory.context;
  return [timeline.start, timeline.playhead, selection.prefix];
}"""
CURRENT = ".tabs a[aria-current]"


@pytest.fixture
def cluster(world: World, recorded: Recorded) -> Cluster:
    worker = "tcp://10.0.0.1:4000"
    recorded.worker(worker, "w0")
    for second in range(40):
        recorded.span(f"load-{second}", worker, second, second + 0.8)
    world.ended.started, world.ended.ended = at(-60), at(60)
    world.ended.save()
    return world.ended


def test_another_tab_keeps_window_playhead_and_selection_and_is_in_the_address(
    page: Page, cluster: Cluster, complaints: list[str]
) -> None:
    page.goto(f"/clusters/{cluster.pk}/?from={START + 5}&to={START + 15}&at={START + 9}&charts=progress")
    page.wait_for_function(READY)
    page.evaluate("() => { const { selection, model } = observatory.context;"
                  " selection.set({ prefix: [...model.prefixes.keys()][0] }); }")  # fmt: skip
    before = page.evaluate(VIEW)
    page.evaluate("() => (window.stays = true)")
    page.get_by_role("link", name="Memory").click()
    expect(page.locator(CURRENT)).to_have_text("Memory")
    expect(page.locator("[data-chart=cluster-memory]")).to_be_visible()
    assert "task-stream" not in page.evaluate(CHARTS)
    assert page.evaluate(VIEW) == before
    assert page.evaluate("() => window.stays"), "the page was not loaded anew"
    page.wait_for_url("**tab=memory**")
    page.reload()
    page.wait_for_function(READY)
    expect(page.locator(CURRENT)).to_have_text("Memory")
    assert page.evaluate(VIEW) == before


def test_back_leads_to_the_tab_before_and_keeps_window_playhead_and_selection(
    page: Page, cluster: Cluster, complaints: list[str]
) -> None:
    page.goto("/clusters/")
    page.goto(f"/clusters/{cluster.pk}/?from={START + 5}&to={START + 15}&at={START + 9}")
    page.wait_for_function(READY)
    page.evaluate("() => (window.stays = true)")
    for name in ("Memory", "Workers"):
        page.get_by_role("navigation", name="Pages of the cluster").get_by_role("link", name=name).click()
        expect(page.locator(CURRENT)).to_have_text(name)
    page.evaluate("() => observatory.context.timeline.setPlayhead(observatory.context.timeline.start + 2)")
    before = page.evaluate(VIEW)
    for name in ("Memory", "Status"):
        page.go_back()
        expect(page.locator(CURRENT)).to_have_text(name)
        assert page.evaluate(VIEW) == before
    expect(page.locator("[data-chart=progress]")).to_be_visible()
    page.go_forward()
    expect(page.locator(CURRENT)).to_have_text("Memory")
    expect(page.locator("[data-chart=prefix-memory]")).to_be_visible()
    assert page.evaluate("() => window.stays"), "the page was not loaded anew"
    page.go_back()
    expect(page.locator(CURRENT)).to_have_text("Status")
    page.go_back()
    page.wait_for_url(lambda url: url.endswith("/clusters/"))
    assert complaints == []


def test_each_tab_draws_its_charts_and_the_menu_lists_them(
    page: Page, cluster: Cluster, complaints: list[str]
) -> None:
    page.goto(f"/clusters/{cluster.pk}/?from={START}&to={START + 40}")
    page.wait_for_function(READY)
    for tab in TABS:
        page.locator(f"a[data-tab={tab.name}]").click()
        expect(page.locator(CURRENT)).to_have_text(tab.title)
        shown = page.evaluate(CHARTS)
        assert len(shown) > 2
        page.locator(".charts-menu").evaluate("(menu) => { menu.open = true; }")
        expect(page.locator(".own-charts input:checked")).to_have_count(len(shown))
        expect(page.get_by_text("can't be drawn")).to_have_count(0)


def test_an_address_with_a_tab_that_there_is_not_opens_the_first(page: Page, cluster: Cluster) -> None:
    page.goto(f"/clusters/{cluster.pk}/?tab=%3Cimg%3E")
    page.wait_for_function(READY)
    expect(page.locator(CURRENT)).to_have_text("Status")


def test_the_help_lists_the_commands_of_the_page_and_of_its_charts_which_their_keys_give(
    page: Page, cluster: Cluster, complaints: list[str]
) -> None:
    page.goto(f"/clusters/{cluster.pk}/?from={START}&to={START + 40}")
    page.wait_for_function(READY)
    page.keyboard.press("?")
    dialog = page.locator("dialog.keys-dialog")
    expect(dialog).to_be_visible()
    listed = dict(
        zip(dialog.locator("dt").all_inner_texts(), dialog.locator("dd").all_inner_texts(), strict=True)
    )
    assert listed["[ / ]"] == "previous and next piece of the critical path, on the tab Why?"
    assert listed["Alt + wheel"] == "scroll the rows of the task stream"
    assert listed["M"] == "write a note"
    assert listed["/"] == "search everything"
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    expect(page.get_by_role("dialog", name="Write a note")).to_be_visible()
