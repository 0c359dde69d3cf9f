"""The flame graph: which samples it sums, how it is read, zoomed, searched, what it says when empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page

from tests.frontend.conftest import Server
from tests.frontend.timeline.make import BYTES_OF, FIRST, INFO, profile, stacks, text

HOSTILE = "<img src=x onerror=alert(1)>"
RUN, INC, LOAD = "run\t/lib/pool.py\t8", "inc\t/code/work.py\t3", f"{HOSTILE}\t/code/{HOSTILE}\t5"
STACKS = {
    1: RUN,
    2: f"{RUN}\n{INC}",
    3: f"{RUN}\n{LOAD}",
    4: "loop\t/lib/loop.py\t1",
    5: f"{RUN}\n{INC}\n{INC}",
}
SCHEDULER, NO_PREFIX, TASK, LOOP = -1, 0, 0, 1
ROWS = [
    (FIRST + 1, 1, 1, TASK, 2, 50),
    (FIRST + 2, 2, 1, TASK, 2, 10),
    (FIRST + 2, 1, 2, TASK, 3, 30),
    (FIRST + 3, 1, 1, TASK, 1, 10),
    (FIRST + 3, 1, NO_PREFIX, LOOP, 4, 7),
    (FIRST + 3, SCHEDULER, NO_PREFIX, LOOP, 4, 3),
    (FIRST + 90, 1, 1, TASK, 5, 1000),
]
"""a hundred samples of tasks in the first ten seconds"""

SETUP = f"""async ([info, data, script]) => {{
  {BYTES_OF}
  const {{ decode }} = await import("/frontend/timeline/tiles/blocks.js");
  const {{ makeTile }} = await import("/frontend/timeline/tiles/tile_store.js");
  const {{ Model }} = await import("/frontend/timeline/model.js");
  const {{ Selection }} = await import("/frontend/timeline/selection.js");
  const {{ Stacks }} = await import("/frontend/timeline/tiles/stacks.js");
  const {{ flameGraph }} = await import("/frontend/charts/flame_graph/flame_graph.js");
  const until = async condition => {{
    for (let turn = 0; turn < 200; turn++) {{
      const found = condition();
      if (found) return found;
      await new Promise(resolve => setTimeout(resolve, 20));
    }}
    throw new Error("it never became true");
  }};
  if (!window.state) {{
    const model = new Model();
    const workers = [1, 2].map(id =>
      ({{ id, address: `tcp://w:${{id}}`, name: `w${{id}}`, slot: `w${{id}}` }}));
    const prefixes = ["inc", "load"].map((name, at) => ({{ id: at + 1, name, color: "#112233" }}));
    model.load({{ lanes: [], series: {{}}, workers, prefixes }});
    const source = {{ url: "/api", fetch: (...options) => fetch(...options) }};
    const [selection, stacks] = [new Selection(), new Stacks(source)];
    const context = {{ info, model, selection, stacks, tiles: {{ loading: false }} }};
    const parent = document.body.appendChild(document.createElement("div"));
    const chart = flameGraph.create(parent, context);
    window.state = {{ context, parent, chart }};
  }}
  const {{ context, parent, chart }} = window.state;
  const level = 20, index = Math.floor(info.first / (512 * 2 ** level / 1e6));
  const tiles = data.map(one => {{
    const tile = makeTile("profile", level, index, false, decode(bytesOf(one)));
    return {{ ...tile, start: 0, stop: info.first + 1e6 }};
  }});
  const show = (start = info.first, stop = info.first + 10) =>
    chart.draw({{ start, stop, tiles: {{ profile: tiles }}, unloaded: {{}} }});
  context.stacks.onchange ??= context.stacks.addEventListener("change", () => show()) ?? true;
  const canvas = () => parent.querySelector("canvas");
  const drawn = () => until(() => !words().includes("loading") && canvas().dataset.frames);
  const words = () => parent.querySelector(".flame-heading").textContent;
  const rows = () => [...parent.querySelectorAll(".flame-table tbody tr:not([hidden])")].map(row =>
    [...row.cells].map(cell => cell.textContent));
  return new (Object.getPrototypeOf(async () => {{}}).constructor)(
    "show", "drawn", "words", "rows", "until", "tiles", "context", script
  )(show, drawn, words, rows, until, tiles, context);
}}"""


def answer(path: str) -> tuple[int, bytes]:
    [ids] = parse_qs(urlsplit(path).query)["ids"]
    return 200, stacks({int(id): STACKS[int(id)] for id in ids.split(",") if int(id) in STACKS})


def run(page: Page, script: str, rows: Sequence[Any] = ROWS, **changes: Any) -> Any:
    data = [text(profile(rows))] if rows else []
    return page.evaluate(SETUP, [{**INFO, **changes}, data, script])


def test_the_window_is_told_in_words_and_its_functions_in_a_table(page: Page, server: Server) -> None:
    server.answer = answer
    words, rows, frames = run(page, "show(); const frames = await drawn(); return [words(), rows(), frames];")
    assert words == "100 samples of tasks on all workers, 22:13:20.0–22:13:30.0"
    assert rows == [
        ["inc", "code/work.py", "60 %", "60 %"],
        [HOSTILE, f"code/{HOSTILE}", "30 %", "30 %"],
        ["run", "lib/pool.py", "10 %", "100 %"],
    ]
    assert frames == "4", "the root, run and what it called"
    assert page.locator("img").count() == 0


def test_stacks_are_asked_for_once(page: Page, server: Server) -> None:
    server.answer = answer
    run(page, "show(); await drawn();")
    run(
        page, "show(); await drawn(); await new Promise(resolve => setTimeout(resolve, 400)); return words();"
    )
    assert len(server.asked) == 1


def test_stacks_that_can_not_be_had_are_asked_for_again(page: Page, server: Server) -> None:
    def once(path: str) -> tuple[int, bytes]:
        return answer(path) if len(server.asked) > 1 else (500, b"")

    server.answer = once
    words = run(page, "show(); await until(() => words()); return words();")
    assert words.endswith("loading the stacks of 100 % of them")
    assert run(page, "show(); await drawn(); return rows().length;") == 3


def test_what_is_selected_elsewhere_is_what_is_shown(page: Page, server: Server) -> None:
    server.answer = answer
    words = run(
        page,
        """context.selection.set({ worker: 1, prefix: 2 }); show(); await drawn(); return words();""",
    )
    assert words.startswith("30 samples of tasks of prefix load on worker tcp://w:1,")


def test_a_click_zooms_and_escape_leads_back(page: Page, server: Server) -> None:
    server.answer = answer
    run(page, "show(); await drawn();")
    box = page.locator("canvas").bounding_box()
    assert box is not None
    beside = box["x"] + 0.4 * box["width"]
    page.mouse.move(beside, box["y"] + 45)
    assert page.locator(".tooltip strong").inner_text() == "inc"
    assert "60 · 60 %" in page.locator(".tooltip").inner_text()
    page.mouse.click(beside, box["y"] + 45)
    assert page.locator(".flame-crumbs > *").all_inner_texts() == ["all samples", "run", "inc"]
    assert page.locator("caption").inner_text() == "Functions in inc, by share of its 60 samples"
    page.locator(".flame-scroller").focus()
    page.keyboard.press("Escape")
    assert page.locator(".flame-crumbs").is_hidden()
    page.mouse.click(beside, box["y"] + 45)
    page.get_by_role("button", name="run", exact=True).first.click()
    assert page.locator("caption").inner_text().startswith("Functions in run")


def test_keys_go_from_frame_to_frame(page: Page, server: Server) -> None:
    server.answer = answer
    run(page, "show(); await drawn();")
    page.locator(".flame-scroller").focus()
    reported = page.locator("p[role=status]")
    said = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
        said.append((reported.inner_text().split(",")[0], reported.inner_text().split(", ")[-1]))
    assert said == [
        ("all samples: 100 samples", "100 %"),
        ("run", "100 %"),
        ("inc", "60 %"),
        (HOSTILE, "30 %"),
        ("inc", "60 %"),
        ("run", "100 %"),
    ]
    page.keyboard.press("Enter")
    assert page.locator("caption").inner_text().startswith("Functions in run")


def test_what_is_looked_for_is_told_as_a_share(page: Page, server: Server) -> None:
    server.answer = answer
    run(page, "show(); await drawn();")
    found = page.locator("output")
    page.get_by_placeholder("function or file").fill("WORK.py")
    assert found.inner_text() == "“work.py” is in 60 % of all"
    page.get_by_role("button", name="run", exact=True).click()
    assert found.inner_text() == "run is in 100 % of all"
    assert page.get_by_placeholder("function or file").input_value() == ""
    page.get_by_placeholder("function or file").fill("nothing")
    assert found.inner_text() == "“nothing” is in no frame"


@pytest.mark.parametrize(
    ("changes", "source", "expected"),
    [
        ({"has_agent": False}, "tasks", "see docs/agent.md"),
        ({}, "tasks", "No samples of tasks on all workers in 22:13:20.0–22:13:30.0. Choose a window"),
        ({}, "scheduler", "none on Python 3.11"),
    ],
)
def test_an_empty_one_says_why_and_what_to_do(
    page: Page, changes: dict[str, Any], source: str, expected: str
) -> None:
    run(page, "show();", rows=(), **changes)
    page.locator("select").select_option(source)
    page.locator(".chart-empty", has_text=expected).wait_for()
