"""The playhead is never out of sight without a way back to it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.frontend.timeline.make import FIRST, INFO

SETUP = """async ([info, first]) => {
  const { Timeline } = await import("/frontend/timeline/timeline.js");
  const { PlayheadEdge } = await import("/frontend/pages/cluster/playhead_edge.js");
  const axis = document.createElement("div");
  axis.style.position = "relative";
  document.body.append(axis);
  const timeline = new Timeline(info, () => 0);
  timeline.setWindow(first + 100, first + 200);
  timeline.setPlayhead(first + 150);
  const edge = new PlayheadEdge(axis, timeline);
  axis.addEventListener("click", () => timeline.setPlayhead(first + 999));
  timeline.addEventListener("change", () => edge.draw());
  edge.draw();
  Object.assign(window, { timeline, first });
}"""


def test_a_playhead_beside_the_window_is_at_its_edge_and_is_shown_by_a_click_or_a_key(page: Page) -> None:
    page.evaluate(SETUP, [INFO, FIRST])
    edge = page.locator(".playhead-edge")
    expect(edge).to_be_hidden()
    page.evaluate("timeline.pan(300)")
    expect(edge).to_contain_text("◀")
    edge.click()
    expect(edge).to_be_hidden()
    page.evaluate("timeline.setWindow(first, first + 50)")
    expect(edge).to_contain_text("▶")
    edge.press("Enter")
    expect(edge).to_be_hidden()
    assert page.evaluate("timeline.playhead - first") == 150
