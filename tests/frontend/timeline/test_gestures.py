"""Mouse, fingers and keys on the timeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.frontend.timeline.make import FIRST, INFO

SETUP = """async ([info, first]) => {
  const { Timeline } = await import("/frontend/timeline/timeline.js");
  const { Selection } = await import("/frontend/timeline/selection.js");
  const { Events } = await import("/frontend/timeline/marks/events.js");
  const { attachPointer } = await import("/frontend/timeline/controls/gestures.js");
  const { COMMANDS } = await import("/frontend/timeline/controls/commands.js");
  const { Keys } = await import("/frontend/timeline/controls/keys.js");
  document.body.style.margin = "0";
  const plots = document.createElement("div");
  Object.assign(plots.style, { width: "1000px", height: "200px", touchAction: "pan-y" });
  const field = document.createElement("input");
  document.body.append(plots, field);
  const timeline = new Timeline(info, () => 0);
  timeline.setWindow(first + 100, first + 200);
  timeline.setPlayhead(first + 150);
  const selection = new Selection();
  const events = new Events();
  events.list = [{ time: first + 120 }, { time: first + 600 }];
  attachPointer(plots, timeline, selection, () => ({ left: 100, width: 800 }));
  const help = { does: "these keys", keys: [["?"]], runs: [() => (window.helped = true)] };
  const keys = new Keys({ timeline, events, selection }, [...COMMANDS, help]);
  keys.attach(document, () => {});
  Object.assign(window, { timeline, selection, keys, first });
}"""


@pytest.fixture
def state(page: Page) -> Callable[[], dict[str, Any]]:
    """The window and the playhead in seconds after FIRST; the plot is 100 to 900 px, 8 px a second."""
    page.evaluate(SETUP, [INFO, FIRST])

    def state() -> dict[str, Any]:
        found: dict[str, Any] = page.evaluate(
            """() => ({ start: timeline.start - first, stop: timeline.stop - first,
              playhead: timeline.playhead - first, live: timeline.live, playing: timeline.playing,
              hover: selection.hover && selection.hover - first })"""
        )
        return found

    return state


def near(value: float) -> Any:
    return pytest.approx(value, abs=0.3)


State = Callable[[], dict[str, Any]]


def test_the_wheel_with_control_zooms_at_the_mouse(page: Page, state: State) -> None:
    page.mouse.move(300, 50)
    before = state()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    page.wait_for_function("length => timeline.length < length", arg=before["stop"] - before["start"])
    after = state()
    assert after["stop"] - after["start"] < before["stop"] - before["start"]
    share = (125 - after["start"]) / (after["stop"] - after["start"])
    assert share == pytest.approx(0.25, abs=0.01)


def test_the_wheel_scrolls_the_page_and_says_once_how_it_zooms(page: Page, state: State) -> None:
    page.evaluate("document.body.style.height = '3000px'")
    page.mouse.move(300, 50)
    page.mouse.wheel(0, 40)
    page.wait_for_function("scrollY >= 40")
    hint = page.locator(".wheel-hint")
    assert hint.inner_text() == "Ctrl + wheel zooms"
    assert (state()["start"], state()["stop"]) == (near(100), near(200))
    page.evaluate("document.querySelector('.wheel-hint').remove()")
    page.mouse.wheel(0, 40)
    page.wait_for_function("scrollY >= 80")
    assert hint.count() == 0


def test_the_wheel_with_shift_moves_the_window(page: Page, state: State) -> None:
    page.mouse.move(300, 50)
    page.keyboard.down("Shift")
    page.mouse.wheel(0, 80)
    page.keyboard.up("Shift")
    page.wait_for_function("timeline.start - first > 100.5")
    assert (state()["start"], state()["stop"]) == (near(110), near(210))


def test_dragging_moves_the_window_and_is_no_click(page: Page, state: State) -> None:
    page.mouse.move(500, 50)
    page.mouse.down()
    page.mouse.move(420, 50, steps=5)
    page.mouse.up()
    assert (state()["start"], state()["stop"]) == (near(110), near(210))
    assert state()["playhead"] == near(150)


def test_a_click_moves_the_playhead(page: Page, state: State) -> None:
    page.mouse.click(180, 50)
    assert state()["playhead"] == near(110)
    assert (state()["start"], state()["stop"]) == (near(100), near(200))


def test_a_double_click_zooms_in_there(page: Page, state: State) -> None:
    page.mouse.dblclick(500, 50)
    assert (state()["start"], state()["stop"]) == (near(125), near(175))


def test_the_instant_under_the_mouse_is_known_to_all(page: Page, state: State) -> None:
    page.mouse.move(260, 50)
    assert state()["hover"] == near(120)
    page.mouse.move(50, 50)
    assert state()["hover"] is None


@pytest.mark.parametrize(
    ("key", "name", "value"),
    [
        ("n", "playhead", 600),
        ("p", "playhead", 120),
        ("Home", "playhead", 0),
        ("End", "playhead", 1000),
        ("Shift+>", "playhead", 151),
        (" ", "playing", True),
        ("l", "live", True),
        ("f", "start", -10),
    ],
)
def test_each_key_does_what_the_list_says(page: Page, state: State, key: str, name: str, value: Any) -> None:
    page.keyboard.press(key)
    assert state()[name] == (value if isinstance(value, bool) else near(value))


def test_the_keys_are_told_and_none_acts_where_somebody_types(page: Page, state: State) -> None:
    page.keyboard.press("?")
    assert page.evaluate("window.helped") is True
    page.locator("input").focus()
    page.keyboard.type("nflp ?")
    assert state()["playhead"] == near(150)
    assert page.locator("input").input_value() == "nflp ?"


def test_no_key_acts_on_what_is_behind_an_open_dialog(page: Page, state: State) -> None:
    page.evaluate("document.body.appendChild(document.createElement('dialog')).showModal()")
    page.keyboard.press("f")
    assert (state()["start"], state()["stop"]) == (near(100), near(200))


def test_a_held_key_goes_on_until_it_is_let_go(page: Page, state: State) -> None:
    page.keyboard.down("d")
    page.evaluate("keys.advance(0.5)")
    assert state()["start"] == near(140)
    page.keyboard.up("d")
    page.evaluate("keys.advance(0.5)")
    assert state()["start"] == near(140)


def test_two_fingers_zoom_between_them(page: Page, state: State) -> None:
    touch = """([kind, id, x]) => {
      const touched = { pointerId: id, clientX: x, clientY: 50, pointerType: "touch", bubbles: true };
      document.elementFromPoint(x, 50).dispatchEvent(new PointerEvent(kind, touched));
    }"""
    for act in (["pointerdown", 1, 400], ["pointerdown", 2, 600], ["pointermove", 2, 800]):
        page.evaluate(touch, act)
    after = state()
    assert after["stop"] - after["start"] == near(50)
    assert (137.5 - after["start"]) / (after["stop"] - after["start"]) == pytest.approx(0.375, abs=0.01)
