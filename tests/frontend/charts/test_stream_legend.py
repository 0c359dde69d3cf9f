"""The legend of the task stream."""

from __future__ import annotations

from playwright.sync_api import Page, expect

SETUP = """async (count) => {
  document.documentElement.style.setProperty("--background", "#12151b");
  document.documentElement.style.setProperty("--surface", "#1a1e26");
  const { Model } = await import("/frontend/timeline/model.js");
  const { Selection } = await import("/frontend/timeline/selection.js");
  const { followColorChoice } = await import("/frontend/charts/drawing/color_choice.js");
  const { StreamLegend } = await import("/frontend/charts/task_stream/stream_legend.js");
  const model = new Model();
  const prefix = (id, name, color) => ({ id, name, color, seconds: id });
  const many = Array.from({ length: count ?? 12 }, (_, at) => prefix(at + 10, `busy-${at}`, "#2e6c8e"));
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
    page.get_by_role("searchbox", name="Find a prefix").fill("B")
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


def test_of_thousands_of_prefixes_the_others_are_one_entry_and_a_search_finds_each(page: Page) -> None:
    page.evaluate(SETUP, 3000)
    names = page.locator(".stream-legend li > button:visible")
    expect(names).to_have_count(13)
    others = page.get_by_role("button", name="others (2,990)")
    others.click()
    assert page.evaluate("selection.hidden.size") == 2990
    expect(page.get_by_role("button", name="others (2,990), hidden")).to_be_visible()
    page.get_by_role("button", name="others").click()
    assert page.evaluate("selection.hidden.size") == 0

    search = page.get_by_role("searchbox", name="Find a prefix")
    search.fill("BUSY-77")
    expect(names.first).to_have_text("busy-779")
    expect(names).to_have_count(11)
    page.get_by_role("button", name="busy-77", exact=True).click()
    assert page.evaluate("selection.prefix") == 87
    search.fill("busy")
    expect(page.get_by_text("and 2,960 more")).to_be_visible()
    search.fill("nothing like it")
    expect(page.get_by_text("no prefix has that in its name")).to_be_visible()
    search.fill("")
    expect(names).to_have_count(13)
