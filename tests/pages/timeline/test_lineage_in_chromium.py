"""The lineage of a selected task on the page of its cluster."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

READY = "() => document.documentElement.dataset.ready === '1' && !window.observatory.context.tiles.loading"
HOSTILE = "load-1-<img src=x onerror=alert(1)>"
KEY = "('load-1', 0)"


@pytest.fixture
def timeline(world: World, recorded: Recorded) -> str:
    """The URL of a cluster in which KEY was made of HOSTILE and retried, and two tasks were made of it."""
    for number in range(3):
        recorded.worker(f"tcp://10.0.0.1:400{number}", f"w{number}")
    recorded.span(HOSTILE, "tcp://10.0.0.1:4000", 0, 2, group="load")
    recorded.span(KEY, "tcp://10.0.0.1:4001", 3, 4)
    recorded.span(KEY, "tcp://10.0.0.1:4001", 5, 6)
    for number in (1, 2):
        recorded.span(f"('load-1', {number})", f"tcp://10.0.0.1:400{number}", 7, 8)
        recorded.dependency(f"('load-1', {number})", KEY)
    recorded.dependency(KEY, HOSTILE, needed_group="load")
    first, second = "tcp://10.0.0.1:4000", "tcp://10.0.0.1:4001"
    recorded.transfer(KEY, second, first, 2.5, 2.75, {HOSTILE: 2**20}, "load-1")
    recorded.steal(KEY, 2.25, "confirm", first, second, "load-1")
    recorded.agent()
    return f"/clusters/{world.ended.pk}/?{urlencode({'from': START - 1, 'to': START + 10})}"


def test_a_selected_task_lists_its_relatives_which_the_keyboard_selects_and_draws_lines_to_them(
    page: Page, timeline: str, complaints: list[str]
) -> None:
    page.goto(timeline)
    page.wait_for_function(READY)
    panel = page.locator("[data-chart=selected-task]")
    expect(panel).to_be_hidden()
    canvas = page.locator("[data-chart=task-stream] canvas")
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    x = page.evaluate(
        "seconds => { const { start, stop, width } = window.observatory.view;"
        " return 120 + (seconds - start) / (stop - start) * width; }",
        START + 5.5,
    )
    page.wait_for_function("window.observatory.context.stolen.list.length === 1")
    y = canvas.evaluate("canvas => canvas.clientHeight * 5 / 12")  # the third of six rows
    canvas.hover(position={"x": x, "y": y})
    expect(page.locator("[data-chart=task-stream] .tooltip")).to_contain_text("stolenfrom w0")
    canvas.click(position={"x": x, "y": y})
    expect(panel.get_by_role("status")).to_have_text("1 dependency, 2 dependents")
    expect(panel.get_by_role("heading", name="Attempts (2)")).to_be_visible()
    expect(panel).to_contain_text(f"from w01.00 MiB · 250 ms · 4.00 MiB/s · {HOSTILE}")
    expect(panel.get_by_role("button", name="from w0 to w1")).to_be_visible()
    assert page.evaluate("window.observatory.context.lineage.transferLines.length") == 1
    assert panel.locator(".selected-task-key").inner_text() == KEY
    assert canvas.evaluate("canvas => canvas.toDataURL()") != before

    dependency = panel.get_by_role("button", name=HOSTILE)
    dependency.focus()
    page.keyboard.press("Enter")
    expect(panel.get_by_role("status")).to_have_text("0 dependencies, 1 dependent")
    assert page.evaluate("document.activeElement.textContent") == HOSTILE, "the keyboard goes on from there"
    assert page.evaluate("window.observatory.context.selection.key") == HOSTILE
    stolen = page.locator("[data-chart=stolen]")
    stolen.scroll_into_view_if_needed()
    expect(stolen).to_contain_text("from w0 to w1")
    assert complaints == []


def test_the_page_of_a_task_leads_to_its_lineage_on_the_timeline(page: Page, timeline: str) -> None:
    page.goto(timeline.split("?")[0] + f"tasks/?{urlencode({'key': KEY})}")
    page.locator("[data-link=timeline]").click()
    expect(page.locator("[data-chart=selected-task]").get_by_role("status")).to_contain_text("2 dependents")
