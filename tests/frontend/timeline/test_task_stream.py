"""The task stream tells how busy a lane was: counted in pixels."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.frontend.timeline.make import BYTES_OF, FIRST, Row, busy, spans, text

HEIGHT = 20
PAINT = f"""async ([data, seconds, width, selected, level, index]) => {{
  {BYTES_OF}
  const {{ decode }} = await import("/frontend/timeline/tiles/blocks.js");
  const {{ Model }} = await import("/frontend/timeline/model.js");
  const {{ Selection }} = await import("/frontend/timeline/selection.js");
  const {{ LanePainter }} = await import("/frontend/charts/task_stream/lane_paint.js");
  const {{ makeTile }} = await import("/frontend/timeline/tiles/tile_store.js");
  const model = new Model();
  model.load({{ workers: [], lanes: [], series: {{}},
    prefixes: [{{ id: 1, name: "inc", color: "#0000ff" }}, {{ id: 2, name: "sum", color: "#00ff00" }}] }});
  const selection = new Selection();
  selection.set(selected);
  const tile = makeTile("spans", level, index, true, decode(bytesOf(data)));
  const painter = new LanePainter(model, selection);
  const height = {HEIGHT};
  const window = {{ start: {FIRST}, stop: {FIRST} + seconds, width, height, labelWidth: 40 }};
  const rows = [{{ lanes: [1], threads: 1, worker: 1, top: 0, height }}];
  painter.paint(rows, [tile], window, [255, 255, 255]);
  const pixels = painter.pixels.image.data;
  // how much of the white has gone, in pixels: of red, green, blue
  const sums = [0, 0, 0];
  for (let place = 0; place < pixels.length; place += 4) {{
    for (const channel of [0, 1, 2]) sums[channel] += 1 - pixels[place + channel] / 255;
  }}
  const colorAt = line => {{
    const place = 4 * (width * line + Math.floor(width / 2));
    return [...pixels.slice(place, place + 3)];
  }};
  return {{ sums, top: colorAt(0), bottom: colorAt(height - 1), labelled: painter.labelled.length }};
}}"""


def paint(
    page: Page,
    data: bytes,
    seconds: float = 1000,
    width: int = 500,
    selected: dict[str, Any] | None = None,
    level: int = 31,
) -> dict[str, Any]:
    index = int(FIRST * 1e6) // (512 * 2**level)
    answer: dict[str, Any] = page.evaluate(PAINT, [text(data), seconds, width, selected or {}, level, index])
    return answer


def share(answer: dict[str, Any], width: int = 500) -> float:
    return float(answer["sums"][0]) / (width * HEIGHT)


def short_tasks(count: int, duration: float, every: float) -> list[Row]:
    return [(1, 1, 0, 0, FIRST + n * every, FIRST + n * every + duration) for n in range(count)]


@pytest.mark.parametrize("duration", [0.005, 0.25, 0.5])
def test_a_lane_looks_as_full_as_it_was_busy_however_many_tasks_there_were(
    page: Page, duration: float
) -> None:
    answer = paint(page, spans(short_tasks(1000, duration, 1.0)))
    assert share(answer) == pytest.approx(max(duration, 0.35 / HEIGHT), rel=0.05)


def test_bins_of_the_server_fill_columns_like_the_tasks_that_they_sum_up(page: Page) -> None:
    level = 20
    index = int(FIRST * 1e6) // (512 * 2**level)
    width = 2**level / 1e6
    first = int((FIRST - index * 512 * width) / width) + 1
    rows = [(1, first + n, 1, 0, width * 0.3, 5) for n in range(100)]
    answer = paint(page, busy(level, index, rows), seconds=110 * width, width=110, level=level)
    assert answer["sums"][0] == pytest.approx(100 * HEIGHT * 0.3, rel=0.05)


def test_bins_wider_than_a_pixel_fill_all_the_pixels_that_they_cover(page: Page) -> None:
    level = 20
    index = int(FIRST * 1e6) // (512 * 2**level)
    width = 2**level / 1e6
    first = int((FIRST - index * 512 * width) / width) + 1
    answer = paint(
        page, busy(level, index, [(1, first, 1, 0, width / 2, 5)]), seconds=4 * width, width=400, level=level
    )
    assert answer["sums"][0] == pytest.approx(100 * HEIGHT / 2, rel=0.05)


def test_a_span_of_two_pixels_and_more_is_drawn_as_itself(page: Page) -> None:
    answer = paint(page, spans([(1, 1, 0, 0, FIRST + 200, FIRST + 800)]))
    assert answer["sums"][0] == pytest.approx(300 * HEIGHT, rel=0.01)
    assert answer["top"] == [0, 0, 255]
    assert answer["labelled"] == 1


def test_erred_tasks_are_black_and_transfers_red_at_dasks_alpha(page: Page) -> None:
    erred = paint(page, spans([(1, 1, 0, 1, FIRST, FIRST + 1000)]))
    assert erred["top"] == [0, 0, 0]
    transfer = paint(page, spans([(1, 1, 1, 0, FIRST, FIRST + 1000)]))
    assert transfer["top"] == [255, 153, 153]


def test_what_ran_one_after_the_other_in_a_column_is_stacked(page: Page) -> None:
    rows: list[Row] = []
    for n in range(1000):
        rows += [(1, 1, 0, 0, FIRST + n, FIRST + n + 0.4), (1, 2, 0, 0, FIRST + n + 0.4, FIRST + n + 0.8)]
    red, green, blue = paint(page, spans(rows))["sums"]
    assert red / (500 * HEIGHT) == pytest.approx(0.8, rel=0.03)
    assert green / (500 * HEIGHT) == pytest.approx(0.4, rel=0.03)
    assert blue / (500 * HEIGHT) == pytest.approx(0.4, rel=0.03)


def test_a_transfer_beside_a_full_column_is_laid_over_it(page: Page) -> None:
    rows: list[Row] = []
    for n in range(1000):
        rows += [(1, 1, 0, 0, FIRST + n, FIRST + n + 1), (1, 1, 1, 0, FIRST + n, FIRST + n + 0.5)]
    answer = paint(page, spans(rows))
    assert answer["bottom"] == [0, 0, 255]
    assert answer["top"] == [pytest.approx(102, abs=2), 0, pytest.approx(153, abs=2)]


def test_choosing_a_prefix_dims_the_others(page: Page) -> None:
    data = spans([(1, 1, 0, 0, FIRST + 200, FIRST + 800)])
    assert share(paint(page, data, selected={"prefix": 1})) == share(paint(page, data))
    assert share(paint(page, data, selected={"prefix": 2})) < 0.2 * share(paint(page, data))


def test_a_chosen_task_is_seen_however_short_it_is(page: Page) -> None:
    rows = short_tasks(1000, 0.001, 1.0)
    answer = paint(page, spans(rows), selected={"key": "inc-500"})
    assert answer["sums"][0] > HEIGHT


HIT = (
    PAINT.split("const painter")[0]
    + f"""
  const {{ hitLanes }} = await import("/frontend/charts/task_stream/lane_hit.js");
  return hitLanes([tile], model, [1], {FIRST} + seconds, width);
}}"""
)


def hit(page: Page, data: bytes, at: float, pixel: float, level: int = 31) -> Any:
    index = int(FIRST * 1e6) // (512 * 2**level)
    return page.evaluate(HIT, [text(data), at, pixel, {}, level, index])


def test_the_span_under_the_mouse_is_found_with_its_key(page: Page) -> None:
    found = hit(
        page, spans([(1, 1, 0, 0, FIRST + 1, FIRST + 2), (1, 2, 0, 0, FIRST + 2, FIRST + 3)]), 2.5, 0.01
    )
    assert (found["span"]["key"], found["span"]["prefix"]) == ("inc-1", 2)


def test_of_many_tasks_at_a_pixel_it_is_told_what_took_how_long(page: Page) -> None:
    rows: list[Row] = [
        (1, 1 + n % 2, 0, 0, FIRST + n * 0.1, FIRST + n * 0.1 + 0.01 * (1 + n % 2)) for n in range(20)
    ]
    found = hit(page, spans(rows), 1.0, 1.0)
    assert found["span"] is None
    assert [(entry["prefix"], entry["count"]) for entry in found["shares"]] == [(2, 10), (1, 10)]
    assert found["seconds"] == pytest.approx(0.3)


def test_beside_everything_nothing_is_found(page: Page) -> None:
    assert hit(page, spans([(1, 1, 0, 0, FIRST + 1, FIRST + 2)]), 5, 0.01) is None
