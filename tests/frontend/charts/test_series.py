"""What the charts make of series: no line across a gap, sums that are sums, the right series of two."""

from __future__ import annotations

from playwright.sync_api import Page

POINTS = """
  const points = (time, mean, gap = 4) => ({ time, mean, min: mean, max: mean, gap });
  const bin = rows => ({ kind: "bin", rows: rows.length, meta: {}, numbers: name =>
    rows.map(row => ({ series: row[0], time: row[1] }[name] ?? row[2])) });
"""


def test_no_line_is_drawn_across_a_gap(page: Page) -> None:
    assert page.evaluate(
        """async () => {
          const { unbroken } = await import("/frontend/charts/series/series_chart.js");
          return [unbroken([1, 2, 3, 9, 10], 4), unbroken([], 4), unbroken([5], 4)];
        }"""
    ) == [[[0, 2], [3, 4]], [], [[0, 0]]]


def test_a_value_of_before_a_gap_says_nothing_of_an_instant_in_it(page: Page) -> None:
    assert page.evaluate(
        f"""async () => {{
          {POINTS}
          const {{ valueAt }} = await import("/frontend/charts/series/series_points.js");
          const one = points([1, 2, 20], [10, 20, 30]);
          return [0.5, 1, 2.5, 6.5, 20].map(at => valueAt(one, at));
        }}"""
    ) == [None, 10, 20, None, 30]


def test_areas_on_top_of_each_other_sum_up_at_the_times_of_all(page: Page) -> None:
    found = page.evaluate(
        f"""async () => {{
          {POINTS}
          const {{ stack }} = await import("/frontend/charts/series/series_points.js");
          return stack([points([1, 2, 3], [1, 1, 1]), points([1, 3], [5, 7]), points([], [])]);
        }}"""
    )
    assert found["time"] == [1, 2, 3]
    assert found["tops"] == [[1, 1, 1], [6, 6, 8], [6, 6, 8]]


def test_a_tile_draws_its_own_interval_and_only_what_is_wanted(page: Page) -> None:
    assert page.evaluate(
        f"""async () => {{
          {POINTS}
          const {{ pointsOf }} = await import("/frontend/charts/series/series_points.js");
          const blocks = new Map([["bin", [bin([[1, 5, 10], [1, 15, 20], [2, 5, 99]])]]]);
          const tile = {{ layer: "memory", binWidth: 1, blocks }};
          const tiles = [0, 10].map(start => ({{ ...tile, start, stop: start + 10 }}));
          const found = pointsOf(tiles, new Map([[1, {{ id: 1, interval: 1 }}]]));
          return [...found].map(([id, one]) => [id, one.time, one.mean]);
        }}"""
    ) == [[1, [5, 15], [10, 20]]]


def test_all_workers_together_are_told_apart_from_the_one_whose_number_they_bear(page: Page) -> None:
    assert page.evaluate(
        f"""async () => {{
          {POINTS}
          const {{ pointsOf }} = await import("/frontend/charts/series/series_points.js");
          const tile = (layer, value) => ({{ layer, start: 0, stop: 10, binWidth: 1,
            blocks: new Map([["bin", [bin([[1, 5, value]])]]]) }});
          const wanted = new Map([[1, {{ id: 1, interval: 1 }}], [-1, {{ id: -1, interval: 1 }}]]);
          const found = pointsOf([tile("memory.all", 10), tile("memory", 20)], wanted);
          return [found.get(-1).mean, found.get(1).mean];
        }}"""
    ) == [[10], [20]]


def test_ticks_are_round_and_reach_the_highest_value(page: Page) -> None:
    assert page.evaluate(
        """async () => {
          const { ticks, units } = await import("/frontend/charts/series/value_axis.js");
          return [ticks(100, units.percent), ticks(3 * 2 ** 30, units.bytes).map(each => each / 2 ** 30),
            ticks(0, units.count)];
        }"""
    ) == [[0, 50, 100], [0, 1, 2, 3], [0, 1]]


def test_a_worker_whose_counter_is_known_is_drawn_by_it_and_another_by_its_heartbeat(page: Page) -> None:
    chosen = page.evaluate(
        """async () => {
          const { Model } = await import("/frontend/timeline/model.js");
          const { gil } = await import("/frontend/charts/series/processor.js");
          const { Events } = await import("/frontend/timeline/events.js");
          const { Selection } = await import("/frontend/timeline/selection.js");
          const series = (id, worker, metric) => ({ id, worker, metric, labels: {}, interval: 5 });
          const model = new Model();
          const worker = (id, name) => ({ id, name, address: "", nthreads: 1, started: 0, ended: null });
          const workers = [worker(1, "a"), worker(2, "<img src=x onerror=alert(1)>")];
          model.load({ workers, lanes: [], prefixes: [], series: { gil: [
              series(1, 1, "observatory_worker_gil_contention_ratio"),
              series(2, 1, "dask_worker_gil_contention_seconds_total"),
              series(3, 2, "observatory_worker_gil_contention_ratio"),
              series(4, null, "dask_scheduler_gil_contention_seconds_total")] } });
          const rows = [1, 2, 3, 4].map(id => [id, 5, 0.5]);
          const block = { kind: "bin", rows: 4, meta: {}, numbers: name =>
            rows.map(row => ({ series: row[0], time: row[1] }[name] ?? row[2])) };
          const tile = { layer: "gil", start: 0, stop: 10, binWidth: 1, blocks: new Map([["bin", [block]]]) };
          const found = { selection: new Selection(), events: new Events(), timeline: {} };
          const chart = gil.create(document.body, { model, info: {}, ...found });
          const view = { start: 0, stop: 10, playhead: 5, width: 300, hover: null, state: null };
          chart.draw({ ...view, tiles: { gil: [tile] } });
          return [[...document.querySelectorAll(".legend li")].map(item => item.textContent),
            document.querySelector("canvas").getAttribute("aria-label"),
            document.querySelectorAll("img").length];
        }"""
    )
    assert sorted(chosen[0]) == ["<img src=x onerror=alert(1)>", "a", "scheduler"]
    assert "a 50 %" in chosen[1]
    assert chosen[2] == 0


def test_a_chart_without_series_says_what_to_do(page: Page) -> None:
    assert "gilknocker" in page.evaluate(
        """async () => {
          const { Model } = await import("/frontend/timeline/model.js");
          const { gil } = await import("/frontend/charts/series/processor.js");
          const { Events } = await import("/frontend/timeline/events.js");
          const { Selection } = await import("/frontend/timeline/selection.js");
          const tile = { layer: "gil", start: 0, stop: 10, binWidth: 1, blocks: new Map() };
          const found = { selection: new Selection(), events: new Events(), timeline: {} };
          const context = { model: new Model(), info: {}, ...found };
          const chart = gil.create(document.body, context);
          const view = { start: 0, stop: 10, playhead: 5, width: 300, hover: null, state: null };
          chart.draw({ ...view, tiles: { gil: [tile] } });
          return document.querySelector(".chart-empty").textContent;
        }"""
    )
