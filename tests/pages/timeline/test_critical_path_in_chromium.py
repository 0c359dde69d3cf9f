"""The critical path on the tab Why?: followed with the keyboard, drawn on the task stream."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

READY = "() => document.documentElement.dataset.ready === '1'"
FIRST, LAST = "first-<img src=x onerror=alert(1)>", "('load-1', 1)"
PLAYHEAD = "window.observatory.context.timeline.playhead"
LINE = "() => document.querySelector('[data-chart=task-stream] canvas').toDataURL()"


@pytest.fixture
def timeline(world: World, recorded: Recorded) -> str:
    """The URL of a cluster in which LAST needed FIRST, which was longer than another task that it needed."""
    for number in range(2):
        recorded.worker(f"tcp://10.0.0.1:400{number}", f"w{number}")
    recorded.span(FIRST, "tcp://10.0.0.1:4000", 1, 5)
    recorded.span("('load-1', 0)", "tcp://10.0.0.1:4001", 1, 2)
    recorded.span(LAST, "tcp://10.0.0.1:4001", 6, 9)
    for needed in (FIRST, "('load-1', 0)"):
        recorded.dependency(LAST, needed)
    for key, sent, worker in ((FIRST, 1, 0), ("('load-1', 0)", 1, 1), (LAST, 5, 1)):
        recorded.transition(0, key, "released", "waiting")
        recorded.transition(sent, key, "waiting", "processing", f"tcp://10.0.0.1:400{worker}")
    recorded.agent()
    return f"/clusters/{world.ended.pk}/?{urlencode({'from': START - 1, 'to': START + 10, 'tab': 'why'})}"


def test_the_path_is_listed_and_followed_with_the_keyboard(
    page: Page, timeline: str, complaints: list[str]
) -> None:
    page.goto(timeline)
    page.wait_for_function(READY)
    panel = page.locator("[data-chart=critical-path]")
    panel.scroll_into_view_if_needed()
    table = panel.get_by_role("table", name="critical path by what it waited for")
    expect(table.get_by_role("row", name="computing 7.00 s")).to_be_visible()
    expect(table.get_by_role("row", name="sent, not begun 1.00 s")).to_be_visible()
    panel.get_by_role("button", name="its pieces").click()
    pieces = panel.get_by_role("table", name="critical path its pieces")
    expect(pieces.locator("tbody")).to_contain_text(FIRST)
    expect(pieces.locator("tbody")).not_to_contain_text("('load-1', 0)")

    page.keyboard.press("End")
    page.keyboard.press("]")  # from the end on it begins again
    page.wait_for_function(f"() => {PLAYHEAD} === {START + 1}")
    assert page.evaluate("window.observatory.context.selection.key") == FIRST
    expect(panel.get_by_role("status")).to_contain_text(f"computing, 4.00 s: {FIRST}")
    page.keyboard.press("]")
    page.wait_for_function(f"() => {PLAYHEAD} === {START + 5}")
    panel.get_by_role("button", name="Next piece").click()
    page.wait_for_function(f"() => {PLAYHEAD} === {START + 6}")
    assert page.evaluate("window.observatory.context.selection.key") == LAST
    page.keyboard.press("[")
    page.wait_for_function(f"() => {PLAYHEAD} === {START + 5}")
    assert complaints == []


def test_its_line_is_on_the_task_stream_while_its_chart_is_shown(page: Page, timeline: str) -> None:
    page.goto(timeline.replace("tab=why", "tab=status"))
    page.wait_for_function(READY)
    without_line = page.evaluate(LINE)
    page.get_by_role("link", name="Why?", exact=True).click()
    panel = page.locator("[data-chart=critical-path]")
    panel.scroll_into_view_if_needed()
    expect(panel.get_by_role("row", name="computing 7.00 s")).to_be_visible()
    page.wait_for_function(f"before => ({LINE})() !== before", arg=without_line)
    with_line = page.evaluate(LINE)
    menu = page.locator("details.charts-menu")
    menu.locator("summary").click()
    menu.get_by_role("checkbox", name="Critical path").uncheck()
    page.wait_for_function(f"before => ({LINE})() !== before", arg=with_line)
    menu.get_by_role("checkbox", name="Critical path").check()
    page.wait_for_function(f"before => ({LINE})() === before", arg=with_line)
    page.get_by_role("link", name="Status", exact=True).click()
    page.wait_for_function(f"before => ({LINE})() === before", arg=without_line)
