"""The header of a cluster's page."""

from __future__ import annotations

from playwright.sync_api import Page

SETUP = """async () => {
  const { createHeader } = await import("/frontend/pages/cluster/header.js");
  document.body.innerHTML = `<span data-error-count hidden>0</span><header></header>`;
  const info = { name: "etl", ended: null, error_count: 0, task_count: 1 };
  const model = { slots: new Map(), workers: new Map() };
  const timeline = { first: 1000, end: 1060 };
  const freshness = { isReceiving: true, text: "", status: () => "live" };
  const context = { info, model, timeline, freshness, playheadState: {}, alerts: { flags: [] } };
  Object.assign(window, { info, update: createHeader(document.querySelector("header"), context) });
  update();
}"""


def test_the_tab_and_the_header_show_the_same_number_of_errors_while_it_grows(page: Page) -> None:
    page.evaluate(SETUP)
    tab = page.locator("[data-error-count]")
    assert tab.is_hidden()
    for count, shown in ((64, "64"), (1_112, "1,112")):
        page.evaluate("count => { info.error_count = count; update(); }", count)
        assert tab.is_visible()
        assert tab.inner_text() == shown
        assert f"{shown} errors" in page.locator("header").inner_text()
