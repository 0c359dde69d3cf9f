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
SCHEDULER, NO_PREFIX, TASK, LOOP, NATIVE = -1, 0, 0, 1, 2
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
  const {{ Features }} = await import("/frontend/timeline/features.js");
  const {{ ProfileOptions }} = await import("/frontend/charts/flame_graph/options.js");
  const {{ flameGraph }} = await import("/frontend/charts/flame_graph/flame_graph.js");
  const until = async condition => {{
    for (let turn = 0; turn < 3000; turn++) {{
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
    const loaded = {{ cover: () => window.state.shown, unloaded: () => [] }};
    const tiles = {{ ...loaded, loading: false, sendDue() {{}}, release() {{}} }};
    const options = {{ source: {{ ...source, pages: null }}, features: new Features({{}}) }};
    const context = {{ info, model, selection, stacks, tiles, ...options }};
    const parent = document.body.appendChild(document.createElement("div"));
    const chart = flameGraph.create(parent, context);
    window.state = {{ context, parent, chart }};
  }}
  const {{ context, parent, chart }} = window.state;
  const profileOptions = context.features.of(ProfileOptions);
  const level = 20, index = Math.floor(info.first / (512 * 2 ** level / 1e6));
  const tiles = data.map(one => {{
    const tile = makeTile("profile", level, index, false, decode(bytesOf(one)));
    return {{ ...tile, start: 0, stop: info.first + 1e6 }};
  }});
  window.state.shown = tiles;
  const show = (start = info.first, stop = info.first + 10) => {{
    window.state.window = [start, stop];
    const view = {{ start, stop, width: 1000, tiles: {{ profile: tiles }}, unloaded: {{}} }};
    chart.cover(view);
    chart.draw(view);
  }};
  const again = () => show(...window.state.window);
  context.stacks.onchange ??= context.stacks.addEventListener("change", again) ?? true;
  const canvas = () => parent.querySelector("canvas");
  const drawn = () => until(() => !words().includes("loading") && canvas().dataset.frames);
  const words = () => parent.querySelector(".flame-heading").textContent;
  const compared = () => [...parent.querySelectorAll(".flame-differences tbody tr")].map(row =>
    [...row.cells].map(cell => cell.textContent));
  const rows = () => [...parent.querySelectorAll(".flame-table tbody tr:not([hidden])")].map(row =>
    [...row.cells].map(cell => cell.textContent));
  return new (Object.getPrototypeOf(async () => {{}}).constructor)(
    "show", "drawn", "words", "rows", "until", "tiles", "context", "compared", "profileOptions", script
  )(show, drawn, words, rows, until, tiles, context, compared, profileOptions);
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


NATIVE_ROWS = [(FIRST + 4, 1, 1, NATIVE, 2, 20), (FIRST + 4, 2, NO_PREFIX, NATIVE, 1, 5)]
PRESS = """const press = name => [...parent.querySelectorAll(".flame-controls .kind-choice button")]
  .find(button => button.textContent === name).click(); const parent = window.state.parent;"""


def test_native_stacks_are_apart_from_those_of_python(page: Page, server: Server) -> None:
    server.answer = answer
    told = run(
        page,
        f"""{PRESS} show(); await drawn(); const found = [words()];
        const told = async name => {{ press(name); await drawn(); found.push(words()); }};
        await told("native");
        context.selection.set({{ worker: null, prefix: 1 }}); await told("native");
        await told("Python");
        const source = parent.querySelector(".flame-controls select");
        source.value = "workers"; source.dispatchEvent(new Event("change")); await drawn();
        return [...found, words(), parent.querySelector(".kind-choice").hidden];""",
        [*ROWS, *NATIVE_ROWS],
    )
    assert [words.split(",")[0] if isinstance(words, str) else words for words in told] == [
        "100 samples of tasks on all workers",
        "25 samples of native stacks of tasks on all workers",
        "20 samples of native stacks of tasks of prefix inc on all workers",
        "70 samples of tasks of prefix inc on all workers",
        "7 samples of the workers' event loops",
        True,
    ]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("[]", "with the setting observatory.native-profile and py-spy beside the workers"),
        (
            """[{ kind: "native-profile-refused", message: `no profile of w: <img src=x> is missing` }]""",
            "The agent tells: no profile of w: <img src=x> is missing.",
        ),
    ],
)
def test_without_native_stacks_the_reason_is_told(
    page: Page, server: Server, events: str, expected: str
) -> None:
    server.answer = answer
    run(page, f"context.events = {{ list: {events} }}; {PRESS} show(); await drawn(); press('native');")
    page.locator(".chart-empty", has_text=expected).wait_for()
    assert page.locator("img").count() == 0


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
    page.get_by_label("Samples of").select_option(source)
    page.locator(".chart-empty", has_text=expected).wait_for()


LATER = [(FIRST + 12, 1, 1, TASK, 2, 20), (FIRST + 13, 1, 2, TASK, 3, 20), (FIRST + 13, 2, 1, TASK, 1, 10)]
"""fifty samples of the ten seconds after the first ones, fewer of them in `inc`"""

COMPARE = """
  profileOptions.set({ against: %s, isSwapped: %s });
  show(info.first + 10, info.first + 20);
  await until(() => compared().length);
  return [words(), compared(), parent.querySelector("canvas").dataset.compared];
"""


def compare(
    page: Page, against: str = '{ kind: "before" }', is_swapped: str = "false", first: str = ""
) -> Any:
    script = f"const parent = window.state.parent, info = context.info; {first} {COMPARE}"
    return run(page, script % (against, is_swapped), [*ROWS, *LATER])


def test_the_window_is_compared_with_the_one_before_by_shares(page: Page, server: Server) -> None:
    server.answer = answer
    words, functions, is_compared = compare(page)
    assert words == (
        "50 samples of tasks on all workers, 22:13:30.0–22:13:40.0 · compared with the window before: "
        "100 samples, 22:13:20.0–22:13:30.0. "
        "Compared are shares of the samples, as the windows may differ in length."
    )
    assert functions == [
        ["inc", "code/work.py", "40 %", "60 %", "▼ −20 pp", "−100 ms"],
        [HOSTILE, f"code/{HOSTILE}", "40 %", "30 %", "▲ +10 pp", "+50 ms"],
        ["run", "lib/pool.py", "20 %", "10 %", "▲ +10 pp", "+50 ms"],
    ]
    assert is_compared == "true"
    assert page.locator("img").count() == 0


def test_swapped_the_other_profile_is_drawn(page: Page, server: Server) -> None:
    server.answer = answer
    words, functions, _ = compare(page, is_swapped="true")
    assert words.startswith(
        "100 samples of tasks on all workers, 22:13:20.0–22:13:30.0 · compared with this window"
    )
    assert functions[0] == ["inc", "code/work.py", "60 %", "40 %", "▲ +20 pp", "+200 ms"]


def test_a_selected_prefix_and_worker_hold_for_both_windows(page: Page, server: Server) -> None:
    server.answer = answer
    words, functions, _ = compare(page, first="context.selection.set({ worker: 1, prefix: 1 });")
    assert words.startswith("20 samples of tasks of prefix inc on worker tcp://w:1,")
    assert "60 samples, 22:13:20.0" in words
    assert functions[0][:5] == ["inc", "code/work.py", "100 %", "83 %", "▲ +17 pp"]


def test_a_window_is_pinned_to_be_compared_with_others(page: Page, server: Server) -> None:
    server.answer = answer
    pinned = f'{{ kind: "window", start: {FIRST}, stop: {FIRST + 10} }}'
    words, functions, _ = compare(page, pinned)
    assert "compared with the pinned window, 22:13:20.0–22:13:30.0: 100 samples" in words
    assert functions[0][0] == "inc"


def test_a_frame_tells_both_shares_and_their_difference(page: Page, server: Server) -> None:
    server.answer = answer
    compare(page)
    box = page.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 45)
    tooltip = page.locator(".tooltip").inner_text()
    assert "inc" in tooltip
    assert "this window\n40 %\nthe window before\n60 %" in tooltip
    assert "−20 percentage points ≈ −100 ms of this window" in tooltip
    assert page.locator(".flame-legend li").all_inner_texts()[0].startswith("▼ less in this window −20 pp")


def test_a_window_without_samples_is_not_compared_with(page: Page, server: Server) -> None:
    server.answer = answer
    run(
        page,
        """profileOptions.set({ against: { kind: "before" } }); show(); await drawn();
        await until(() => document.body.innerText.includes("Nothing to compare with"));""",
    )
    assert page.locator("canvas").get_attribute("data-compared") == "false"
    assert page.locator(".flame-table").is_visible()
