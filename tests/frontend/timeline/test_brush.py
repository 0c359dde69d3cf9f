"""Clicks and drags on the overview."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.frontend.timeline.make import FIRST, INFO

SETUP = """async ([info, first, from, to]) => {
  const { Timeline } = await import("/frontend/timeline/timeline.js");
  const { Selection } = await import("/frontend/timeline/selection.js");
  const { Brush } = await import("/frontend/charts/overview/brush.js");
  document.body.style.margin = "0";
  const overview = document.createElement("div");
  Object.assign(overview.style, { position: "relative", width: "1000px", height: "64px" });
  document.body.append(overview);
  const sheet = document.createElement("link");
  Object.assign(sheet, { rel: "stylesheet", href: "/frontend/styles/timeline/overview.css" });
  await new Promise((resolve) => { sheet.onload = resolve; document.head.append(sheet); });
  const timeline = new Timeline(info, () => 0);
  timeline.setWindow(first + from, first + to);
  timeline.setPlayhead(first + from);
  const brush = new Brush(overview, timeline, new Selection());
  const draw = () => brush.draw(100, 800, first, first + 800);
  timeline.addEventListener("change", draw);
  draw();
  Object.assign(window, { timeline, first });
}"""
TIMES = "() => [timeline.start, timeline.stop, timeline.playhead].map((time) => time - first)"


def near(*times: float) -> object:
    return pytest.approx(times, abs=2)


def test_a_click_in_the_window_moves_the_playhead_there(page: Page) -> None:
    page.evaluate(SETUP, [INFO, FIRST, 0, 800])
    page.mouse.click(500, 40)
    assert page.evaluate(TIMES) == near(0, 800, 400)


def test_a_click_beside_the_window_moves_it_and_the_playhead(page: Page) -> None:
    page.evaluate(SETUP, [INFO, FIRST, 100, 200])
    page.mouse.click(700, 40)
    assert page.evaluate(TIMES) == near(550, 650, 600)


def test_a_drag_moves_the_window(page: Page) -> None:
    page.evaluate(SETUP, [INFO, FIRST, 100, 200])
    page.mouse.move(250, 40)
    page.mouse.down()
    page.mouse.move(350, 40, steps=4)
    page.mouse.up()
    start, stop, _ = page.evaluate(TIMES)
    assert (start, stop) == near(200, 300)
