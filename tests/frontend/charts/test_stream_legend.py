"""The legend of the task stream."""

from __future__ import annotations

from playwright.sync_api import Page, expect

SETUP = """async () => {
  document.documentElement.style.setProperty("--background", "#12151b");
  document.documentElement.style.setProperty("--surface", "#1a1e26");
  const { Model } = await import("/frontend/timeline/model.js");
  const { Selection } = await import("/frontend/timeline/selection.js");
  const { followColorChoice } = await import("/frontend/charts/drawing/color_choice.js");
  const { StreamLegend } = await import("/frontend/charts/task_stream/stream_legend.js");
  const model = new Model();
  const prefix = (id, name, color) => ({ id, name, color, seconds: id });
  const many = Array.from({ length: 12 }, (_, at) => prefix(at + 10, `busy-${at}`, "#2e6c8e"));
  const prefixes = [prefix(1, "<b>inc</b>", "#440154"), prefix(2, "sum", "#471669"), ...many];
  model.load({ workers: [], lanes: [], series: {}, prefixes });
  followColorChoice((backgrounds, isExact) => model.setColors(backgrounds, isExact));
  const selection = new Selection();
  const legend = new StreamLegend({ model, selection });
  document.body.append(legend.list);
  for (const source of [model, selection]) source.addEventListener("change", () => legend.draw());
  Object.assign(window, { selection });
}"""


def test_the_legend_highlights_hides_and_shows_prefixes_and_shows_dasks_colours(page: Page) -> None:
    page.evaluate(SETUP)
    names = page.locator(".stream-legend li > button")
    assert names.first.inner_text() == "busy-11", "the busiest comes first"
    page.get_by_role("button", name="and 2 more").click()
    busy, inc = page.get_by_role("button", name="busy-11"), page.get_by_role("button", name="<b>inc</b>")
    busy.click()
    expect(busy).to_have_attribute("aria-pressed", "true")
    busy.click()
    expect(page.get_by_role("button", name="busy-11, hidden")).to_have_count(1)
    inc.click(modifiers=["Control"])
    assert page.evaluate("[selection.prefix, ...selection.hidden]") == [None, 21, 1]

    swatch = "swatch => getComputedStyle(swatch).backgroundColor"
    spaced = inc.locator("i").evaluate(swatch)
    page.get_by_label("Dask's exact colours").check()
    assert inc.locator("i").evaluate(swatch) == "rgb(68, 1, 84)" != spaced
    page.reload()
    page.evaluate(SETUP)
    expect(page.get_by_label("Dask's exact colours")).to_be_checked()
