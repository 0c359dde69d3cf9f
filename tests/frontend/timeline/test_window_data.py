"""What the server says of the window: requested once it stands still, and never shown for another one."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page

from tests.frontend.conftest import Server

SETUP = """async () => {
  const { WindowData } = await import("/frontend/timeline/window_data.js");
  const { serverSource } = await import("/frontend/timeline/sources/source.js");
  const data = new WindowData(serverSource("/api/v1/clusters/1"), "/prefixes");
  window.changes = 0;
  data.addEventListener("change", () => (window.changes += 1));
  Object.assign(window, { data, update: (start, stop, live = false) => data.update({ start, stop, live }) });
}"""


def path(start: int, stop: int) -> str:
    return f"/api/v1/clusters/1/prefixes?after={start}.000000&before={stop}.000000"


def test_the_first_window_is_requested_at_once_and_then_one_that_stands_still(
    page: Page, server: Server
) -> None:
    server.answer = lambda asked: (200, json.dumps({"path": asked}).encode())
    page.evaluate(SETUP)
    page.evaluate("() => update(10, 20)")
    page.wait_for_function("() => changes === 1")
    page.evaluate("() => { for (let moved = 11; moved <= 15; moved += 1) update(moved, moved + 10); }")
    page.wait_for_function("() => changes === 2")
    assert server.asked == [path(10, 20), path(15, 25)]
    assert page.evaluate("() => [data.answer.path, data.message]") == [path(15, 25), ""]


def test_a_failure_says_so_and_keeps_the_answer_before(page: Page, server: Server) -> None:
    server.answer = lambda asked: (200, b'{"is": "before"}')
    page.evaluate(SETUP)
    page.evaluate("() => update(10, 20)")
    page.wait_for_function("() => changes === 1")
    server.answer = lambda asked: (503, b"")
    page.evaluate("() => update(30, 40)")
    page.wait_for_function("() => changes === 2")
    answer, message = page.evaluate("() => [data.answer, data.message]")
    assert answer == {"is": "before"}
    assert "503" in message


@pytest.mark.parametrize("status", [429, 503])
def test_an_answer_that_the_server_still_works_on_is_requested_again_when_it_says(
    page: Page, server: Server, status: int
) -> None:
    server.answer = lambda asked: (status, b'{"detail": "It is looked at."}')
    server.headers = {"Retry-After": "1"}
    page.evaluate(SETUP)
    page.evaluate("() => update(10, 20)")
    page.wait_for_function("() => changes === 1")
    assert page.evaluate("() => [data.answer, data.message]") == [None, "It is looked at."]
    server.answer = lambda asked: (200, b'{"is": "there"}')
    page.wait_for_function("() => data.answer")
    assert page.evaluate("() => [data.answer, data.message]") == [{"is": "there"}, ""]
    assert set(server.asked) == {path(10, 20)}


def test_a_file_says_that_it_does_not_have_this(page: Page, server: Server) -> None:
    server.answer = lambda asked: (404, b"")
    page.evaluate(SETUP)
    page.evaluate("() => update(10, 20)")
    page.wait_for_function("() => changes === 1")
    assert page.evaluate("() => [data.answer, data.message]") == [None, "A file of a run does not have this."]


def test_a_live_window_is_not_requested_with_each_frame(page: Page, server: Server) -> None:
    server.answer = lambda asked: (200, b"{}")
    page.evaluate(SETUP)
    page.evaluate("() => update(10, 20, true)")
    page.wait_for_function("() => changes === 1")
    page.evaluate("() => { for (let now = 21; now < 60; now += 1) update(now - 10, now, true); }")
    page.wait_for_function("() => changes === 2")
    assert server.asked == [path(10, 20), path(49, 59)], "the newest one, after the pause"
