"""The table of workers at the playhead: sorted, searched, and never cut without a way to the rest."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

STYLES = Path(__file__).resolve().parents[3] / "frontend" / "styles" / "timeline" / "data_table.css"
HOSTILE = "<img src=x onerror=alert(1)>"
SETUP = """async ([count, hostile]) => {
  const { Model } = await import("/frontend/timeline/model.js");
  const { Selection } = await import("/frontend/timeline/selection.js");
  const { workersNow } = await import("/frontend/charts/playhead/workers_now.js");
  const model = new Model();
  const times = { started: 0, ended: null, end_reason: "", status: "running", tags: {} };
  const workers = Array.from({ length: count }, (_, id) => ({
    id, name: id === 7 ? hostile : `w${id}`, address: `tcp://10.0.0.1:${id}`, host: `host-${id % 10}`,
    slot: `w${id}`, nthreads: 2, memory_limit: 100, position: id, ...times }));
  model.load({ workers, lanes: [], series: {}, prefixes: [] });
  const selection = new Selection();
  const thresholds = { target: 0.6, spill: 0.7, pause: 0.8, terminate: 0.95 };
  const chart = workersNow.create(document.body, { model, selection, info: { thresholds } });
  const now = ({ id }) => ({ id, status: "running", cpu: id === 3 ? null : (id * 37) % count, memory: id,
    managed: 0, unmanaged: 0, spilled: 0, limit: 100, gil: null,
    running: id === 3 ? null : 1, heard: id === 3 ? 88 : 99.5, is_silent: id === 3 });
  const state = { at: 100, workers: workers.map(now) };
  chart.draw({ state });
  selection.addEventListener("change", () => chart.draw({ state: { ...state } }));
}"""


def test_a_heading_sorts_all_workers_and_again_the_other_way(page: Page) -> None:
    page.evaluate(SETUP, [1000, HOSTILE])
    names = page.locator("tbody .row-name")
    expect(names.first).to_have_text("w0")
    memory = page.get_by_role("button", name="memory")
    memory.focus()
    page.keyboard.press("Enter")
    expect(names.first).to_have_text("w999")
    expect(page.get_by_role("columnheader", name="memory")).to_have_attribute("aria-sort", "descending")
    page.keyboard.press("Enter")
    expect(names.first).to_have_text("w0")
    page.get_by_role("button", name="worker", exact=True).click()
    expect(names.nth(1)).to_have_text("w0")  # after the one that begins with <
    page.get_by_role("button", name="CPU").click()
    for _ in range(24):
        page.get_by_role("button", name="Show 40 of").click()
    expect(names).to_have_count(1000)
    expect(names.last).to_have_text("w3")


def test_many_workers_scroll_in_their_table_also_by_the_keyboard(page: Page) -> None:
    page.add_style_tag(path=STYLES)
    page.evaluate(SETUP, [450, HOSTILE])
    region = page.get_by_role("region", name="Table of workers")
    box = region.bounding_box()
    assert box is not None
    assert box["height"] <= 520
    names = page.locator("tbody .row-name")
    region.focus()
    for shown in (*range(80, 450, 40), 450):  # more come before the end is reached
        page.keyboard.press("End")
        expect(names).to_have_count(shown)
    page.keyboard.press("End")
    expect(names.last).to_be_in_viewport()
    expect(page.get_by_role("button", name="memory")).to_be_in_viewport()


def test_all_workers_can_be_reached_and_searched(page: Page) -> None:
    page.evaluate(SETUP, [450, HOSTILE])
    names = page.locator("tbody .row-name")
    expect(names).to_have_count(40)
    page.get_by_role("button", name="Show 40 of 410 more").click()
    for _ in range(9):
        page.get_by_role("button", name="Show 40 of").click()
    page.get_by_role("button", name="Show 10 of 10 more").click()
    expect(names).to_have_count(450)
    search = page.get_by_role("searchbox", name="Find a worker")
    search.fill("HOST-9 running")
    expect(names).to_have_count(45)
    search.fill("onerror")
    expect(names).to_have_count(1)
    expect(names).to_have_attribute("title", f"{HOSTILE} · tcp://10.0.0.1:7")
    names.first.click()
    expect(names.first).to_have_attribute("aria-pressed", "true")
    search.fill("nobody")
    expect(page.get_by_text("Nothing matches.")).to_be_visible()
    search.fill("")
    expect(names).to_have_count(450)


def test_a_few_workers_need_no_search(page: Page) -> None:
    page.evaluate(SETUP, [4, HOSTILE])
    expect(page.locator("tbody .row-name")).to_have_count(4)
    expect(page.get_by_role("searchbox")).to_be_hidden()


def test_a_silent_worker_has_a_mark_and_what_is_unknown_is_not_0(page: Page) -> None:
    page.evaluate(SETUP, [4, HOSTILE])
    rows = page.locator("tbody tr")
    expect(rows.nth(3).locator("td")).to_have_text(["–", "3 B", "–", "–", "⚠ 12.0 s"])
    expect(rows.nth(2).locator("td").last).to_have_text("500 ms")
    page.get_by_role("button", name="heard").click()
    expect(page.locator("tbody .row-name").first).to_have_text("w3")
