"""The one timeline: window, playhead, live and pace."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.frontend.timeline.make import FIRST, INFO

NOW = FIRST + 1000


def run(page: Page, script: str, **changes: Any) -> Any:
    """Runs `script` with a `timeline` whose wall clock is `wall.now`; its answers are seconds after FIRST."""
    setup = """async ([info, first, script]) => {
      const { Timeline } = await import("/frontend/timeline/timeline.js");
      const wall = { now: 5000 };
      const timeline = new Timeline(info, () => wall.now);
      const relative = () => ({
        start: timeline.start - first, stop: timeline.stop - first, playhead: timeline.playhead - first,
        live: timeline.live, playing: timeline.playing, speed: timeline.speed,
      });
      return new Function("timeline", "wall", "first", "relative", script)(timeline, wall, first, relative);
    }"""
    return page.evaluate(setup, [{**INFO, **changes}, FIRST, script])


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-3)


def test_a_live_cluster_opens_at_now_on_the_schedulers_clock(page: Page) -> None:
    state = run(page, "return relative()")
    assert state["live"] is True
    assert (state["start"], state["stop"], state["playhead"]) == (near(940), near(1000), near(1000))


def test_live_moves_on_with_the_clock_by_whole_pixels(page: Page) -> None:
    states = run(
        page,
        """timeline.width = 600; // 0.1 s a pixel
        const moved = [];
        for (const seconds of [0.06, 0.06, 0.06]) {
          wall.now += seconds;
          moved.push(timeline.advance(seconds));
        }
        return { moved, ...relative() }""",
    )
    assert states["moved"] == [False, True, False]
    assert (states["stop"], states["playhead"]) == (near(1000.12), near(1000.12))


def test_a_cluster_that_ended_opens_whole_with_the_playhead_at_its_end(page: Page) -> None:
    state = run(page, "return relative()", ended=NOW)
    assert state["live"] is False
    assert state["start"] < 0 < 1000 < state["stop"]
    assert state["playhead"] == near(1000)


def test_zooming_keeps_the_time_under_the_mouse_where_it_is(page: Page) -> None:
    state = run(
        page,
        "timeline.setWindow(first + 400, first + 500); timeline.zoom(0.5, first + 420); return relative()",
    )
    assert (state["start"], state["stop"]) == (near(410), near(460))


def test_zooming_while_live_stays_live_and_keeps_now_at_the_end(page: Page) -> None:
    state = run(page, "timeline.zoom(0.5, timeline.start); return relative()")
    assert state["live"] is True
    assert (state["start"], state["stop"]) == (near(970), near(1000))


@pytest.mark.parametrize(
    "act", ["timeline.pan(-10)", "timeline.setPlayhead(first + 950)", "timeline.pause()", "timeline.fit()"]
)
def test_whoever_goes_elsewhere_leaves_live(page: Page, act: str) -> None:
    assert run(page, f"{act}; return relative()")["live"] is False


def test_the_window_can_neither_vanish_nor_lose_what_is_recorded(page: Page) -> None:
    states = run(
        page,
        """timeline.setWindow(first - 1e6, first - 1e6 + 100); const before = relative();
        timeline.setWindow(first + 1e6, first + 1e6 + 100); const after = relative();
        for (let i = 0; i < 100; i++) timeline.zoom(0.5, first + 500); const small = timeline.length;
        for (let i = 0; i < 100; i++) timeline.zoom(2, first + 500);
        return [before, after, small, timeline.length]""",
    )
    before, after, small, large = states
    assert before["stop"] > 0
    assert after["start"] < 1000
    assert small == near(0.01)
    assert large == near(1500)


def test_playing_moves_the_playhead_at_the_speed_chosen(page: Page) -> None:
    state = run(
        page,
        """timeline.setWindow(first, first + 100); timeline.setPlayhead(first + 10); timeline.setSpeed(16);
        timeline.play(); timeline.advance(0.1); timeline.advance(0.1); return relative()""",
    )
    assert state["playing"] is True
    assert state["playhead"] == near(10 + 0.2 * 16)
    assert (state["start"], state["stop"]) == (near(0), near(100))


def test_a_tab_that_was_hidden_goes_on_where_it_was(page: Page) -> None:
    state = run(
        page,
        """timeline.setWindow(first, first + 100); timeline.setPlayhead(first);
        timeline.play(); timeline.advance(600); return relative()""",
    )
    assert state["playhead"] == near(0.25)


def test_the_window_follows_a_playhead_that_leaves_it(page: Page) -> None:
    state = run(
        page,
        """timeline.setWindow(first, first + 100); timeline.setPlayhead(first + 99.9); timeline.setSpeed(8);
        timeline.play(); timeline.advance(0.1); return relative()""",
    )
    assert state["playhead"] == near(100.7)
    assert (state["start"], state["stop"]) == (near(0.7), near(100.7))


def test_playing_into_now_becomes_live(page: Page) -> None:
    state = run(
        page,
        """timeline.setPlayhead(first + 999.9); timeline.setSpeed(64);
        timeline.play(); timeline.advance(0.1); return relative()""",
    )
    assert (state["live"], state["playing"]) == (True, False)
    assert state["playhead"] == near(1000)


def test_playing_stops_at_the_end_of_a_cluster_that_ended_and_starts_over(page: Page) -> None:
    states = run(
        page,
        """timeline.setPlayhead(first + 999.9); timeline.setSpeed(64); timeline.play(); timeline.advance(0.1);
        const stopped = relative(); timeline.play(); return [stopped, relative()]""",
        ended=NOW,
    )
    assert (states[0]["playing"], states[0]["live"], states[0]["playhead"]) == (False, False, near(1000))
    assert (states[1]["playing"], states[1]["playhead"]) == (True, near(0))


def test_a_live_page_stays_at_the_end_when_the_cluster_ends(page: Page) -> None:
    state = run(
        page,
        "timeline.setBounds({ first, last: first + 1003, ended: first + 1003 }); return relative()",
    )
    assert (state["live"], state["playhead"], state["stop"]) == (False, near(1003), near(1003))


def test_jumping_out_of_the_window_brings_the_window_along(page: Page) -> None:
    state = run(page, "timeline.setWindow(first, first + 100); timeline.jump(first + 700); return relative()")
    assert (state["playhead"], state["start"], state["stop"]) == (near(700), near(650), near(750))


def test_speeds_that_there_are_not_are_ignored(page: Page) -> None:
    assert run(page, "timeline.setSpeed(3); return relative()")["speed"] == 1


def test_what_changes_is_told_and_what_does_not_is_not(page: Page) -> None:
    counts = run(
        page,
        """let count = 0; timeline.addEventListener("change", () => count += 1);
        timeline.advance(0); const idle = count; timeline.setPlayhead(first + 3); return [idle, count]""",
    )
    assert counts == [0, 1]
