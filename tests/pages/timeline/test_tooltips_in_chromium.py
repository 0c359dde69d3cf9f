"""Tooltips are in the window as a whole, over what stays in sight."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from observatory.clusters.models import Cluster
from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser]

READY = "() => document.documentElement.dataset.ready === '1'"
IS_WHOLE = """(box) => {
  const { left, top, right, bottom } = box.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const corners = [[left, top], [right, top], [left, bottom], [right, bottom]];
  box.style.pointerEvents = "auto"; // else nothing is found at its place
  const isOnTop = corners.every(([x, y]) => {
    const inside = [Math.min(Math.max(x, left + 8), right - 8), Math.min(Math.max(y, top + 8), bottom - 8)];
    return box.contains(document.elementFromPoint(...inside));
  });
  box.style.pointerEvents = "";
  return left >= 0 && top >= 0 && right <= clientWidth && bottom <= clientHeight && isOnTop;
}"""


@pytest.fixture
def cluster(world: World, recorded: Recorded) -> Cluster:
    lost = [(20.0 + number / 10, "worker-lost", {"message": "was lost " * 2}) for number in range(8)]
    recorded.worker("tcp://10.0.0.1:4000", "w0", events=lost)
    for second in range(40):
        recorded.span(f"load-{second}", "tcp://10.0.0.1:4000", second, second + 0.8)
    world.ended.started, world.ended.ended = at(-60), at(60)
    world.ended.save()
    return world.ended


@pytest.mark.parametrize(("width", "height"), [(1600, 1000), (390, 844), (1600, 420)])
def test_the_tooltip_of_events_is_whole_also_when_the_page_is_scrolled(
    page: Page, cluster: Cluster, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"/clusters/{cluster.pk}/?from={START}&to={START + 40}")
    page.wait_for_function(READY)
    canvas = page.locator("[data-chart=events] canvas")
    page.wait_for_function("() => observatory.context.events.list.length > 7")
    x = page.evaluate(
        "(time) => { const { start, stop, width } = observatory.view; const canvas ="
        " document.querySelector('[data-chart=events] canvas');"
        " return canvas.clientWidth - 12 - width + (time - start) / (stop - start) * width; }",
        START + 20.3,
    )
    canvas.scroll_into_view_if_needed()
    tooltip = page.locator("[data-chart=events] .tooltip")
    canvas.hover(position={"x": x, "y": 10})
    expect(tooltip).to_be_visible()
    assert tooltip.evaluate(IS_WHOLE)
