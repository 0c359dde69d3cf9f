"""The Memory tab: the memory of runs over each other, each from its own start on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, expect

from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import make_link
from observatory.store.connection import read_connection
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.queries.dimensions import read_dimensions
from observatory.store.times import from_seconds
from tests.comparison.made_runs import make_run
from tests.support.observed_cluster import Observed
from tests.support.projects import HOSTILE, World

pytestmark = [pytest.mark.browser]

READY = "() => document.documentElement.dataset.ready === '1'"
OTHERS = 9


@pytest.fixture
def runs(observed: Observed, world: World) -> Iterator[list[Run]]:
    """Runs of the real cluster, newest first, and one before them of the same name in another cluster.

    They are over before its workers end: while it is closing there is no memory of any kind.
    """
    with read_connection() as connection:
        workers = read_dimensions(connection, observed.cluster.pk, []).workers
    begin = observed.run.start
    length = from_seconds(min(worker["ended"] for worker in workers)) - begin
    named = [
        Run.objects.create(
            cluster=observed.cluster,
            name=HOSTILE if number % 2 else "etl",
            origin=Run.Origin.CUT,
            outcome=Run.Outcome.FINISHED,
            start=begin + length * number / (OTHERS + 3),
            stop=begin + length * (number + 3) / (OTHERS + 3),
        )
        for number in range(OTHERS)
    ]
    elsewhere = make_run(world.ended, 0, {"load": 0.3}, memory=3)
    yield [*reversed(named), elsewhere]
    delete_cluster(world.ended.pk)


def opened(page: Page, path: str) -> Locator:
    page.goto(path)
    page.wait_for_function(READY)
    panel = page.locator("[data-chart=run-memory]")
    panel.scroll_into_view_if_needed()
    return panel


def legend(panel: Locator) -> list[str]:
    expect(panel.locator(".run-memory-stage")).to_have_attribute("aria-busy", "false")
    return panel.locator(".legend li").all_inner_texts()


def chosen(page: Page) -> str:
    page.wait_for_function("() => new URLSearchParams(location.search).has('runs')")
    return str(page.evaluate("() => new URLSearchParams(location.search).get('runs')"))


def test_a_run_is_laid_over_earlier_ones_of_its_name_also_of_other_clusters(
    page: Page, runs: list[Run], world: World, complaints: list[str]
) -> None:
    newest, elsewhere = runs[0], runs[-1]
    panel = opened(page, f"/runs/{newest.pk}/?tab=memory")
    expect(panel.locator(".legend li")).to_have_count(3)
    assert legend(panel)[0].startswith(f"etl #{newest.pk}: peak ")
    groups = panel.locator("fieldset")
    assert groups.locator("legend").all_inner_texts() == [
        "This run, and earlier ones of its name",
        "Other runs of this cluster",
    ]
    box = groups.first.get_by_role("checkbox", name=f"etl #{elsewhere.pk}")
    expect(box.locator("..")).to_contain_text(f"on {world.ended.name}")
    box.check()
    expect(panel.locator(".legend li").last).to_have_text(
        re.compile(rf"etl #{elsewhere.pk}: peak (2\.9\d|3\.00) GiB")
    )
    expect(panel.locator("canvas[data-lines]")).to_have_attribute("data-lines", "4")
    canvas = panel.locator("canvas").first.bounding_box()
    assert canvas is not None
    page.mouse.move(canvas["x"] + 130, canvas["y"] + 100)
    tooltip = panel.locator(".tooltip")
    expect(tooltip).to_contain_text("after the start")
    expect(tooltip).to_contain_text(f"etl #{elsewhere.pk}")
    assert complaints == []


def test_up_to_eight_runs_are_ticked_and_the_address_brings_them_back(
    page: Page, runs: list[Run], observed: Observed, complaints: list[str]
) -> None:
    panel = opened(page, f"/clusters/{observed.cluster.pk}/?tab=memory")
    boxes = panel.get_by_role("checkbox")
    expect(boxes).to_have_count(OTHERS + 1)
    for place in range(8):
        boxes.nth(place).check()
    expect(boxes.nth(8)).to_be_disabled()
    expect(panel.locator(".legend li")).to_have_count(8)
    boxes.nth(1).uncheck()
    expect(boxes.nth(8)).to_be_enabled()
    expect(panel.locator(".legend li")).to_have_count(7)
    [of_processes, *_] = legend(panel)
    panel.get_by_role("button", name="unmanaged", exact=True).click()
    expect(panel.locator(".legend li").first).not_to_have_text(of_processes)
    page.wait_for_function("() => location.search.includes('measure=unmanaged')")
    shown, ids = legend(panel), chosen(page)
    assert len(ids.split(",")) == 7
    again = opened(page, page.url)
    expect(again.locator(".legend li")).to_have_count(7)
    assert legend(again) == shown
    assert again.locator("img").count() == 0
    assert complaints == []


def test_a_shown_run_keeps_its_colour_as_another_one_goes(
    page: Page, runs: list[Run], observed: Observed
) -> None:
    panel = opened(page, f"/clusters/{observed.cluster.pk}/?tab=memory")
    swatches = panel.locator(".legend li i")
    expect(swatches).to_have_count(3)
    colors = [swatches.nth(place).get_attribute("style") for place in range(3)]
    panel.get_by_role("checkbox").first.uncheck()
    expect(swatches).to_have_count(2)
    assert [swatches.nth(place).get_attribute("style") for place in range(2)] == colors[1:]


def test_the_chart_is_also_a_table(page: Page, runs: list[Run]) -> None:
    panel = opened(page, f"/runs/{runs[0].pk}/?tab=memory&runs={runs[0].pk},{runs[-1].pk}")
    expect(panel.locator(".legend li")).to_have_count(2)
    panel.get_by_label(re.compile("Memory of runs, aligned: table")).click()
    panel.get_by_role("button", name="Show as table").click()
    table = page.get_by_role("dialog").get_by_role("table")
    assert table.locator("th").all_inner_texts() == [
        "since the start (s)",
        f"etl #{runs[0].pk} (bytes)",
        f"etl #{runs[-1].pk} (bytes)",
    ]
    assert table.locator("tbody tr").count() > 10


def test_an_address_with_runs_that_are_gone_names_them(
    page: Page, runs: list[Run], observed: Observed
) -> None:
    panel = opened(page, f"/clusters/{observed.cluster.pk}/?tab=memory&runs={runs[0].pk},999999")
    expect(panel.get_by_text("Not shown: #999999")).to_be_visible()
    expect(panel.locator(".legend li")).to_have_count(1)


def test_without_runs_it_says_how_to_mark_one(page: Page, observed: Observed, complaints: list[str]) -> None:
    Run.objects.all().delete()
    panel = opened(page, f"/clusters/{observed.cluster.pk}/?tab=memory")
    expect(panel.get_by_text('observatory.run("my run")')).to_be_visible()
    expect(panel.get_by_text("Save as run")).to_be_visible()
    expect(panel.get_by_role("checkbox")).to_have_count(0)
    assert complaints == []


def test_a_link_shows_one_run_and_no_panel_of_others(page: Page, runs: list[Run], world: World) -> None:
    author: Any = User.objects.get(pk=world.people["owner"].pk)
    link = make_link(Permalink(run=runs[0], audience=Permalink.Audience.ANYONE), author)
    page.goto(f"/r/{link.token}?tab=memory&runs={runs[1].pk}")
    page.wait_for_function(READY)
    expect(page.locator("[data-chart=cluster-memory]")).to_be_visible()
    assert page.locator("[data-chart=run-memory]").count() == 0
