"""A table of rows: sorted by its headings, searched, opened; the keyboard stays where it was."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

FRONTEND = Path(__file__).parents[3] / "frontend"
HOSTILE = "<img src=x onerror=alert(1)>"
SETUP = """async ([count, hostile]) => {
  const { DataTable } = await import("/frontend/charts/data_table/data_table.js");
  const rows = Array.from({ length: count }, (_, id) => (
    { id, name: id === 7 ? hostile : `p${id}`, size: id === 3 ? null : id }));
  const columns = [
    { name: "name", title: "prefix", value: ({ name }) => name },
    { name: "size", title: "size", unit: "bytes", value: ({ size }) => size,
      text: ({ size }) => `${size} B` },
  ];
  window.chosen = [];
  const paragraph = () => document.createElement("p");
  const open = ({ name }) => Object.assign(paragraph(), { textContent: `details of ${name}` });
  const table = new DataTable(document.body, columns, { label: "prefixes", empty: "No prefix.",
    key: ({ id }) => id, find: ({ name }) => name, sorted: "size", open,
    choose: ({ id }) => window.chosen.push(id) });
  table.show(rows);
  Object.assign(window, { table, rows });
}"""


def test_a_heading_sorts_all_rows_and_again_the_other_way(page: Page) -> None:
    page.evaluate(SETUP, [250, HOSTILE])
    names = page.locator("tbody .row-name")
    expect(names.first).to_have_text("p249")
    size = page.get_by_role("button", name="size")
    size.focus()
    page.keyboard.press("Enter")
    expect(names.first).to_have_text("p0")
    expect(page.get_by_role("columnheader", name="size")).to_have_attribute("aria-sort", "ascending")
    expect(size).to_be_focused()
    page.get_by_role("button", name="prefix", exact=True).click()
    expect(names.first).to_have_text(HOSTILE)
    page.get_by_role("button", name="Show 100 of 150 more").click()
    page.get_by_role("button", name="Show 50 of 50 more").click()
    expect(names).to_have_count(250)


def test_an_unknown_value_comes_last_whatever_the_order(page: Page) -> None:
    page.evaluate(SETUP, [6, HOSTILE])
    names = page.locator("tbody .row-name")
    expect(names.last).to_have_text("p3")
    page.get_by_role("button", name="size").click()
    expect(names.last).to_have_text("p3")


def test_rows_are_searched_and_a_search_without_a_match_says_so(page: Page) -> None:
    page.evaluate(SETUP, [30, HOSTILE])
    search = page.get_by_role("searchbox", name="Search prefixes")
    search.fill("ONERROR")
    expect(page.locator("tbody .row-name")).to_have_text([HOSTILE])
    search.fill("nothing like it")
    expect(page.get_by_text("Nothing matches.")).to_be_visible()


def test_an_opened_row_stays_open_when_the_rows_are_replaced(page: Page) -> None:
    page.evaluate(SETUP, [5, HOSTILE])
    opener = page.get_by_role("button", name="Details of p2")
    opener.click()
    expect(page.get_by_text("details of p2")).to_be_visible()
    page.evaluate("() => table.show(rows.map((row) => ({ ...row, size: 10 - row.id })))")
    expect(page.get_by_text("details of p2")).to_be_visible()
    expect(opener).to_be_focused()
    opener.click()
    expect(page.get_by_text("details of p2")).to_have_count(0)


def test_a_row_is_chosen_and_the_table_for_a_file_has_all_rows_with_units(page: Page) -> None:
    page.evaluate(SETUP, [250, HOSTILE])
    page.get_by_role("button", name="p249", exact=True).click()
    assert page.evaluate("() => chosen") == [249]
    columns, rows = page.evaluate("() => [table.table().columns, table.table().rows]")
    assert columns == ["prefix", "size (bytes)"]
    assert len(rows) == 250
    assert rows[-1] == ["p3", None]


def test_a_table_without_rows_says_why(page: Page) -> None:
    page.evaluate(SETUP, [0, HOSTILE])
    expect(page.get_by_text("No prefix.")).to_be_visible()
    page.evaluate("() => table.show([], 'loading …')")
    expect(page.get_by_text("loading …")).to_be_visible()


LONG_NAME = """async (name) => {
  const { DataTable } = await import("/frontend/charts/data_table/data_table.js");
  const { prefixCell } = await import("/frontend/charts/data_table/prefix_cell.js");
  const columns = [
    { name: "name", title: "prefix", value: ({ name }) => name,
      cell: ({ name }) => prefixCell(name, 1, { color: () => "red", prefixes: new Map() }) },
    { name: "size", title: "size", value: () => 1, text: () => "much more than fits" },
  ];
  const table = new DataTable(document.body, columns, { label: "prefixes", empty: "", key: () => 1,
    choose: () => {}, open: () => document.createElement("p") });
  table.show([{ name }]);
}"""


def test_on_a_phone_a_long_name_has_its_colour_and_its_opener_beside_its_first_line(page: Page) -> None:
    page.set_viewport_size({"width": 240, "height": 600})
    for sheet in ("styles/timeline/data_table.css", "charts/prefix_table/style.css"):
        page.add_style_tag(path=FRONTEND / sheet)
    page.evaluate(LONG_NAME, "read_parquet_and_filter_by_customer")
    name, swatch, opener = (page.locator(part) for part in (".row-name", ".swatch", ".row-opener"))
    boxes = [one.bounding_box() for one in (name, page.locator(".prefix-name > span"), swatch, opener)]
    assert all(boxes)
    button, text, color, triangle = (box for box in boxes if box)
    assert text["height"] > 1.5 * triangle["height"], "the name takes several lines"
    first_line = button["y"] + triangle["height"]
    assert color["x"] + color["width"] <= text["x"]
    assert color["y"] + color["height"] <= first_line
    assert abs(triangle["y"] - button["y"]) < 2
