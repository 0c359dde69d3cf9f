"""A tooltip is in the window, also where it has more to say than this has room for."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

STYLES = Path(__file__).resolve().parents[3] / "frontend" / "styles" / "timeline" / "panels.css"
SHOW = """async ([lines, length]) => {
  const { Tooltip } = await import("/frontend/charts/drawing/tooltip.js");
  document.body.replaceChildren();
  const texts = Array.from({ length: lines }, (_, at) => [`line ${at}`, "k".repeat(length)]);
  new Tooltip(document.body).show(100, 100, "x".repeat(length), texts);
}"""
BOX = """(box) => {
  const { top, bottom } = box.getBoundingClientRect();
  return { top, bottom, height: document.documentElement.clientHeight };
}"""


def test_lines_for_which_the_window_has_no_room_are_counted(page: Page) -> None:
    page.add_style_tag(path=STYLES)
    page.evaluate(SHOW, [90, 3])
    tooltip = page.locator(".tooltip")
    box = tooltip.evaluate(BOX)
    assert box["top"] >= 0
    assert box["bottom"] <= box["height"]
    shown = tooltip.locator("dt").count()
    assert 5 < shown < 90
    expect(tooltip.locator("small")).to_have_text(f"and {90 - shown} more")


def test_a_long_key_does_not_make_a_tooltip_higher_than_the_window(page: Page) -> None:
    page.add_style_tag(path=STYLES)
    page.evaluate(SHOW, [3, 3000])
    tooltip = page.locator(".tooltip")
    box = tooltip.evaluate(BOX)
    assert box["bottom"] - box["top"] < box["height"]
    assert box["top"] >= 0
    expect(tooltip.locator("dt").first).to_have_text("line 0")


def test_all_lines_are_shown_where_they_have_room(page: Page) -> None:
    page.add_style_tag(path=STYLES)
    page.evaluate(SHOW, [5, 3])
    expect(page.locator(".tooltip dt")).to_have_count(5)
    expect(page.locator(".tooltip small")).to_have_count(0)
