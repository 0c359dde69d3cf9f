"""Charts of series in a page: the right series of two, and what to do where there is none."""

from __future__ import annotations

from playwright.sync_api import Page


def test_the_instant_under_the_mouse_on_another_chart_has_its_values_beside_it(page: Page) -> None:
    shown, outside = page.evaluate(
        """async () => {
          const { Model } = await import("/frontend/timeline/model.js");
          const { clusterSize } = await import("/frontend/charts/series/states.js");
          const { Events } = await import("/frontend/timeline/marks/events.js");
          const { Selection } = await import("/frontend/timeline/selection.js");
          const model = new Model();
          const metric = "observatory_cluster_threads";
          const series = [{ ids: [1], workers: [null], metric, labels: {}, interval: 5 }];
          model.load({ workers: [], lanes: [], prefixes: [], series: { cluster: series } });
          const block = { kind: "bin", rows: 2, meta: {}, numbers: name =>
            ({ series: [1, 1], time: [2, 8] })[name] ?? [12, 16] };
          const blocks = new Map([["bin", [block]]]);
          const tile = { layer: "cluster", start: 0, stop: 10, binWidth: 1, blocks };
          const found = { selection: new Selection(), events: new Events(), timeline: {} };
          const chart = clusterSize.create(document.body, { model, info: {}, ...found });
          const view = { start: 0, stop: 10, playhead: 5, width: 300, state: null, unloaded: {} };
          const tiles = { cluster: [tile] };
          const readout = document.querySelector(".readout");
          const at = hover => {
            chart.draw({ ...view, hover, tiles });
            return readout.hidden ? "" : readout.innerText;
          };
          return [[at(3), at(8.5)], [at(null), at(11)]];
        }"""
    )
    assert shown == ["threads 12", "threads 16"]
    assert outside == ["", ""]


def test_a_worker_whose_counter_is_known_is_drawn_by_it_and_another_by_its_heartbeat(page: Page) -> None:
    chosen = page.evaluate(
        """async () => {
          const { Model } = await import("/frontend/timeline/model.js");
          const { gil } = await import("/frontend/charts/series/processor.js");
          const { Events } = await import("/frontend/timeline/marks/events.js");
          const { Selection } = await import("/frontend/timeline/selection.js");
          const shared = { labels: {}, interval: 5 };
          const series = (id, worker, metric) => ({ ids: [id], workers: [worker], metric, ...shared });
          const model = new Model();
          const worker = (id, name) =>
            ({ id, name, slot: name, address: "", nthreads: 1, started: 0, ended: null });
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
          chart.draw({ ...view, tiles: { gil: [tile] }, unloaded: {} });
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
          const { Events } = await import("/frontend/timeline/marks/events.js");
          const { Selection } = await import("/frontend/timeline/selection.js");
          const tile = { layer: "gil", start: 0, stop: 10, binWidth: 1, blocks: new Map() };
          const found = { selection: new Selection(), events: new Events(), timeline: {} };
          const context = { model: new Model(), info: {}, ...found };
          const chart = gil.create(document.body, context);
          const view = { start: 0, stop: 10, playhead: 5, width: 300, hover: null, state: null };
          chart.draw({ ...view, tiles: { gil: [tile] }, unloaded: {} });
          return document.querySelector(".chart-empty").textContent;
        }"""
    )
