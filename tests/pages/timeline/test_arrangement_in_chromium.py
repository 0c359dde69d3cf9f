"""People arrange the charts of a tab: which ones, their order and height. It is kept and in the address."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser]

READY = "() => document.documentElement.dataset.ready === '1'"
SHOWN = "() => [...document.querySelectorAll('.plots [data-chart]')].map((panel) => panel.dataset.chart)"
WORKER = "tcp://10.0.0.1:4000"


@pytest.fixture
def address(world: World, recorded: Recorded) -> str:
    recorded.worker(WORKER, "w0", memory={second: 1 + second / 40 for second in range(40)})
    for second in range(40):
        recorded.span(f"load-{second}", WORKER, second, second + 0.8)
    world.ended.started, world.ended.ended = at(-60), at(60)
    world.ended.save()
    return f"/clusters/{world.ended.pk}/?from={START}&to={START + 40}"


def open_page(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_function(READY)


def choose(page: Page, chart: str, action: str) -> None:
    """An action of a chart's menu, by the keyboard."""
    page.locator(f"[data-chart={chart}] .chart-menu summary").press("Enter")
    page.locator(f"[data-chart={chart}] .chart-menu").get_by_role("button", name=action).press("Enter")


def test_a_chart_is_moved_by_the_keyboard_which_is_kept_and_in_the_address(
    page: Page, address: str, complaints: list[str]
) -> None:
    open_page(page, address)
    before = page.evaluate(SHOWN)
    first = before.index("task-stream")
    for _ in range(len(before)):
        if page.evaluate(SHOWN).index("memory") <= first:
            break
        choose(page, "memory", "Move up")
    moved = page.evaluate(SHOWN)
    assert moved.index("memory") < moved.index("task-stream")
    page.wait_for_url("**charts=**")
    link = page.url
    open_page(page, address)
    assert page.evaluate(SHOWN) == moved, "it is kept in this browser"
    page.evaluate("() => localStorage.clear()")
    open_page(page, address)
    assert page.evaluate(SHOWN) == before
    open_page(page, link)
    assert page.evaluate(SHOWN) == moved, "it is in the address"
    page.locator(".charts-menu > summary").click()
    page.get_by_role("button", name="As this tab has them").click()
    assert page.evaluate(SHOWN) == before
    page.wait_for_url(lambda url: "charts=" not in url)
    assert complaints == []


def test_a_chart_is_moved_by_dragging_its_title(page: Page, address: str, complaints: list[str]) -> None:
    open_page(page, address)
    title = page.locator("[data-chart=memory] .panel-title")
    title.drag_to(page.locator("[data-chart=task-stream] .panel-title"))
    page.wait_for_url("**charts=**")
    moved = page.evaluate(SHOWN)
    assert moved.index("memory") < moved.index("task-stream")
    progress = page.locator("[data-chart=progress] .panel-title")
    title.drag_to(progress)
    assert page.evaluate(SHOWN) == moved, "a chart of the timeline stays in its column"
    assert complaints == []


def test_the_height_of_a_chart_is_changed_by_the_keyboard_and_by_its_edge(
    page: Page, address: str, complaints: list[str]
) -> None:
    open_page(page, address)
    canvas = page.locator("[data-chart=memory] canvas")
    edge = page.get_by_role("separator", name="Height of Memory per worker")
    before = canvas.evaluate("(canvas) => canvas.clientHeight")
    for _ in range(3):
        edge.press("ArrowDown")
    assert canvas.evaluate("(canvas) => canvas.clientHeight") == before + 60
    expect(edge).to_have_attribute("aria-valuenow", str(before + 60))
    edge.scroll_into_view_if_needed()
    box = edge.bounding_box()
    assert box is not None
    window = page.evaluate("() => observatory.view.start")
    page.mouse.move(box["x"] + 300, box["y"] + 3)
    page.mouse.down()
    page.mouse.move(box["x"] + 340, box["y"] + 43, steps=4)
    page.mouse.up()
    assert canvas.evaluate("(canvas) => canvas.clientHeight") == pytest.approx(before + 100, abs=3)
    assert page.evaluate("() => observatory.view.start") == window, "the window was not moved"
    page.wait_for_url("**charts=**memory%3A**")
    open_page(page, address)
    assert canvas.evaluate("(canvas) => canvas.clientHeight") == pytest.approx(before + 100, abs=3)
    stream = page.locator("[data-chart=task-stream] .task-stream")
    page.get_by_role("separator", name="Height of Task stream").press("ArrowDown")
    assert stream.evaluate("(stream) => stream.clientHeight") > 0
    assert complaints == []


def test_a_ready_made_selection_shows_charts_of_other_tabs_and_each_chart_of_it_is_there(
    page: Page, address: str, complaints: list[str]
) -> None:
    open_page(page, address)
    page.locator(".charts-menu > summary").click()
    presets = page.get_by_role("group", name="Ready-made selections")
    for name in ("as in Dask", "memory", "scheduler", "GPU"):
        presets.get_by_role("button", name=name, exact=True).click()
        expect(page.get_by_text("can't be drawn")).to_have_count(0)
    presets.get_by_role("button", name="scheduler", exact=True).click()
    assert page.evaluate(SHOWN)[2:6] == ["task-stream", "states", "event-loop", "scheduler-cpu"]
    page.locator(".charts-menu").get_by_label("Task stream", exact=True).uncheck()
    expect(page.locator("[data-chart=task-stream]")).to_have_count(0)
    assert complaints == []


def test_the_menu_of_charts_is_used_with_the_keyboard_and_says_what_is_chosen(
    page: Page, address: str, complaints: list[str]
) -> None:
    open_page(page, address)
    menu = page.locator(".charts-menu")
    menu.locator("summary").first.press("Enter")
    usual = menu.get_by_role("button", name="As this tab has them")
    scheduler = menu.get_by_role("button", name="scheduler")
    expect(usual).to_have_attribute("aria-pressed", "true")
    scheduler.press("Enter")
    expect(scheduler).to_have_attribute("aria-pressed", "true")
    expect(scheduler).to_be_focused()
    stream = menu.get_by_label("Task stream", exact=True)
    stream.press("Space")
    expect(stream).not_to_be_checked()
    expect(stream).to_be_focused()
    expect(scheduler).to_have_attribute("aria-pressed", "false")
    usual.press("Enter")
    expect(usual).to_be_focused()
    expect(stream).to_be_checked()
    expect(usual).to_have_attribute("aria-pressed", "true")
    assert complaints == []


def test_a_chart_that_an_address_names_twice_or_does_not_exist_is_shown_once_or_not(
    page: Page, address: str, complaints: list[str]
) -> None:
    open_page(page, f"{address}&charts=memory:90,none,memory,%3Cb%3E,task-stream:0,cpu:9999")
    assert page.evaluate(SHOWN) == ["memory", "task-stream", "cpu"]
    page.get_by_role("separator", name="Height of Memory per worker").press("ArrowDown")
    page.wait_for_url("**charts=memory%3A110**")
    assert complaints == []


@pytest.mark.parametrize("kept", ["{", "[]", '{"status": 7}', '{"status": ["<img>", null, "memory:99999"]}'])
def test_what_is_kept_and_makes_no_sense_is_ignored(
    page: Page, address: str, kept: str, complaints: list[str]
) -> None:
    page.goto(address)
    page.evaluate("(kept) => localStorage.setItem('charts', kept)", kept)
    open_page(page, address)
    expect(page.locator(".tabs a[aria-current]")).to_have_text("Status")
    assert complaints == []
