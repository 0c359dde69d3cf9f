"""Drawing time of the timeline's canvas charts, relative to Plotly.

Five charts of eight series with 600 points each are drawn, then panned frame by frame, in one Chromium.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import shutil
import sys
import tempfile
import threading
from importlib.util import find_spec
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from tests.support.chromium import ARGUMENTS, NAMES  # noqa: E402

MEASURE = """async () => {
  const [CHARTS, SERIES, POINTS, FRAMES] = [5, 8, 600, 40];
  const value = (series, at) => 1 + series + Math.sin(at / 20 + series);
  const median = list => list.sort((one, other) => one - other)[list.length >> 1];
  const frame = () => new Promise(resolve => requestAnimationFrame(resolve));

  async function measure(first, pan) {
    let began = performance.now();
    await first();
    await frame();
    const drawn = performance.now() - began;
    const frames = [];
    for (let step = 0; step < FRAMES; step++) {
      began = performance.now();
      await pan(step);
      frames.push(performance.now() - began);
      await frame();
    }
    return { first: drawn, frame: median(frames) };
  }

  const { seriesChart } = await import("/frontend/charts/series/series_chart.js");
  const { units } = await import("/frontend/charts/series/value_axis.js");
  const { Model } = await import("/frontend/timeline/model.js");
  const { Events } = await import("/frontend/timeline/marks/events.js");
  const { Selection } = await import("/frontend/timeline/selection.js");
  const selection = new Selection();
  const context = { model: new Model(), selection, info: {}, events: new Events(), timeline: {} };
  const rows = Array.from({ length: SERIES * POINTS }, (_, row) => row);
  const column = { series: rows.map(row => Math.floor(row / POINTS)), time: rows.map(row => row % POINTS) };
  column.mean = column.min = column.max = rows.map(row => value(column.series[row], column.time[row]));
  const block = { kind: "bin", rows: rows.length, meta: {}, numbers: name => column[name] };
  const tile = { layer: "x", start: 0, stop: POINTS, binWidth: 1, blocks: new Map([["bin", [block]]]) };
  const lines = () => Array.from({ length: SERIES }, (_, id) =>
    ({ series: { id, interval: 1, labels: {} }, label: `${id}`, color: "#4477aa", worker: null }));
  const definition = { name: "x", title: "x", layers: ["x"], help: "", empty: "", unit: units.count, lines };
  const charts = Array.from({ length: CHARTS }, () => seriesChart(definition).create(
    document.body.appendChild(document.createElement("div")), context));
  const draw = start => charts.forEach(chart => chart.draw(
    { start, stop: start + 300, playhead: start, width: 1100, hover: null, tiles: { x: [tile] } }));
  const canvas = await measure(() => draw(0), step => draw(step));

  const element = document.body.appendChild(document.createElement("div"));
  const times = Array.from({ length: POINTS }, (_, at) => at);
  const traces = [];
  const layout = { width: 1200, height: 900, showlegend: false, xaxis: { range: [0, 300] } };
  for (let chart = 0; chart < CHARTS; chart++) {
    const axis = `y${chart ? chart + 1 : ""}`;
    layout[axis.replace("y", "yaxis")] = { domain: [chart / CHARTS + 0.02, (chart + 1) / CHARTS - 0.02] };
    for (let series = 0; series < SERIES; series++) {
      const y = times.map(at => value(series, at));
      traces.push({ x: times, y, mode: "lines", xaxis: "x", yaxis: axis });
    }
  }
  const plotly = await measure(
    () => Plotly.newPlot(element, traces, layout),
    step => Plotly.relayout(element, { "xaxis.range": [step, step + 300] }));
  return { canvas, plotly };
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def main() -> int:
    spec = find_spec("plotly")
    assert spec is not None
    assert spec.submodule_search_locations
    plotly = Path(spec.submodule_search_locations[0]) / "package_data/plotly.min.js"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "frontend").symlink_to(ROOT / "frontend")
        (Path(folder) / "plotly.js").symlink_to(plotly)
        (Path(folder) / "index.html").write_text("<!doctype html><body><script src=plotly.js></script>")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright:
            executable = next(found for name in NAMES if (found := shutil.which(name)))
            browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            found = page.evaluate(MEASURE)
            chromium = browser.version
            browser.close()
        server.shutdown()
    names = {"first": "first drawing of five charts", "frame": "a frame of panning them"}
    results = [
        Result(
            f"{what}: Plotly's time relative to the canvas's",
            "canvas charts",
            round(found["plotly"][name] / found["canvas"][name], 1),
        )
        for name, what in names.items()
    ]
    return print_results(
        "timeline_charts",
        results,
        ("plotly",),
        milliseconds={kind: {n: round(v, 1) for n, v in times.items()} for kind, times in found.items()},
        plotly_gzipped_bytes=len(gzip.compress(plotly.read_bytes(), 9)),
        chromium=f"{chromium}, rendering in software",
    )


if __name__ == "__main__":
    sys.exit(main())
