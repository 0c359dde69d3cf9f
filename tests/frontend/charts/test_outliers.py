"""The table of workers that stand out: loaded once the window stands still, sorted by its headings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.frontend.conftest import Server

HOSTILE = "<img src=x onerror=alert(1)>"
SETUP = """async (workers) => {
  const { Features } = await import("/frontend/timeline/features.js");
  const { LaneOptions } = await import("/frontend/charts/task_stream/options.js");
  const { Model } = await import("/frontend/timeline/model.js");
  const { Selection } = await import("/frontend/timeline/selection.js");
  const { serverSource } = await import("/frontend/timeline/sources/source.js");
  const { outliers } = await import("/frontend/charts/outliers/outliers.js");
  const model = new Model();
  model.load({ workers, lanes: [], series: {}, prefixes: [] });
  const [selection, features] = [new Selection(), new Features({})];
  const laneOptions = features.of(LaneOptions);
  const source = serverSource("/api/v1/clusters/1");
  const timeline = { jump: (time) => (window.jumped = time) };
  const chart = outliers.create(document.body, { model, selection, features, source, timeline });
  const draw = (start, stop) => chart.draw({ start, stop, live: false });
  selection.addEventListener("change", () => draw(10, 20));
  Object.assign(window, { selection, laneOptions, chart, draw });
}"""


def worker(id: int, name: str) -> dict[str, Any]:
    slot = {
        "slot": name,
        "host": "h",
        "nthreads": 1,
        "memory_limit": 0,
        "end_reason": "",
        "status": "running",
    }
    times = {"started": 0, "ended": None, "position": id}
    return {"id": id, "name": name, "address": f"tcp://10.0.0.1:{id}", **slot, **times}


def outlier(worker: int, **figures: float) -> dict[str, Any]:
    names = ("duration_ratio", "errors", "memory_slope", "paused", "received")
    return {"worker": worker, **dict.fromkeys(names), **figures}


def test_workers_are_sorted_by_the_heading_and_a_click_shows_their_lane(page: Page, server: Server) -> None:
    found = [outlier(1, errors=3, received=10), outlier(2, errors=1, received=5e6), outlier(3, received=7)]
    answer = {"workers": found, "hosts": [], "tasks": []}
    server.answer = lambda path: (200, json.dumps(answer).encode())
    page.evaluate(SETUP, [worker(1, HOSTILE), worker(2, "w2"), worker(3, "w3")])
    page.evaluate("() => { draw(10, 19); draw(10, 20); }")
    names = page.locator("tbody th button")
    expect(names).to_have_text([HOSTILE, "w2", "w3"])
    assert server.asked == ["/api/v1/clusters/1/outliers?after=10.000000&before=20.000000"], (
        "the window that stands still"
    )
    page.get_by_role("button", name="received").click()
    expect(names).to_have_text(["w2", HOSTILE, "w3"])
    expect(page.get_by_role("columnheader", name="received")).to_have_attribute("aria-sort", "descending")
    assert page.evaluate("() => chart.table().rows[0]") == ["w2", None, 1, None, None, 5e6]

    names.first.click()
    expect(names.first).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("() => [selection.worker, laneOptions.filter]") == [2, "tcp://10.0.0.1:2"]
    names.first.click()
    expect(names.first).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("() => [selection.worker, laneOptions.filter]") == [None, ""]


def test_hosts_and_tasks_are_listed_and_a_click_leads_to_them(page: Page, server: Server) -> None:
    host = {**outlier(0, errors=3, received=10), "host": HOSTILE, "workers": 4}
    del host["worker"]
    task = {"key": f"('{HOSTILE}', 1)", "prefix": 7, "worker": 1, "lane": 3, "start": 12.5, "stop": 15.5}
    answer = {"workers": [], "hosts": [host], "tasks": [{**task, "ratio": 9.04}]}
    server.answer = lambda path: (200, json.dumps(answer).encode())
    page.evaluate(SETUP, [worker(1, "w1")])
    page.evaluate("() => draw(10, 20)")
    expect(page.get_by_text("None.", exact=True)).to_be_visible()
    page.get_by_role("button", name="hosts").click()
    button = page.locator("tbody th button")
    expect(button).to_have_text(HOSTILE)
    assert page.evaluate("() => chart.table().rows[0].slice(0, 2)") == [HOSTILE, 4]
    button.click()
    assert page.evaluate("() => [selection.worker, laneOptions.filter]") == [None, HOSTILE]
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    assert page.evaluate("() => laneOptions.filter") == ""
    page.get_by_role("button", name="tasks").click()
    expect(page.locator("tbody tr")).to_contain_text("9.0 ×")
    assert page.evaluate("() => chart.table().rows[0]") == [
        f"('{HOSTILE}', 1)",
        "prefix 7",
        "w1",
        "1970-01-01T00:00:12.500Z",
        3,
        pytest.approx(2.668, abs=0.001),
        9.04,
    ]
    button.click()
    assert page.evaluate("() => [selection.key, jumped]") == [f"('{HOSTILE}', 1)", 12.5]


def test_a_file_says_that_it_has_none_and_a_server_that_fails_is_named(page: Page, server: Server) -> None:
    page.evaluate(SETUP, [])
    page.evaluate("() => draw(1, 2)")
    expect(page.get_by_text("A file of a run does not have this.")).to_be_visible()
    server.answer = lambda path: (503, b"")
    page.evaluate("() => draw(1, 3)")
    expect(page.get_by_text("the server answered 503")).to_be_visible()
