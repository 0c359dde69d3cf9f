"""Time to open and navigate a run of a million tasks, relative to a performance_report of 100,000 tasks.

A real run is multiplied to 10,000 and 1,000,000 tasks and stored in a new Observatory. The peer is a
performance_report of a real LocalCluster with 100,000 tasks. Both are opened cold in the same Chromium.
Prints one JSON line; the exit code is 1 if a limit was missed. TASKS, SMALL and REPORT set the sizes.
"""

from __future__ import annotations

import http.client
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from observatory.store.times import from_seconds

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402
from tests.support.chromium import ARGUMENTS, NAMES  # noqa: E402

TASKS = int(os.environ.get("TASKS", "1000000"))
SMALL = int(os.environ.get("SMALL", "10000"))
REPORT = int(os.environ.get("REPORT", "100000"))
ROUNDS, SEEKS, MOVING = 9, 40, 3.0
SETTLING = 1_000
"""ms before a page is opened: the one that was closed before, and a new process, still take processor time"""
# the task stream is drawn in the frame in which its tiles cover the window
READY = """() => {
  const look = () => {
    const { view, context } = window.observatory ?? {};
    const tiles = view?.tiles.spans ?? [];
    const { first, last } = context?.info ?? {};
    const isCovered = tiles.length > 0
      && tiles[0].start <= Math.max(view.start, first) && tiles.at(-1).stop >= Math.min(view.stop, last)
      && tiles.every((tile, place) => place === 0 || tile.start <= tiles[place - 1].stop)
      && document.querySelector(".task-stream")?.ariaBusy === null;
    if (isCovered) requestAnimationFrame(() => { window.drawn = performance.now(); });
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""

# the task stream has its own tab: it is drawn when the tab was opened and Bokeh is idle
REPORT_READY = """() => {
  let opened = false;
  const look = () => {
    const shown = window.Bokeh?.documents?.[0];
    if (shown?.is_idle) {
      if (opened) { requestAnimationFrame(() => { window.drawn = performance.now(); }); return; }
      for (const root of shown.roots()) if (root.tabs) {
        const index = root.tabs.findIndex(tab => tab.title === "Task Stream");
        if (index >= 0) { root.active = index; opened = true; }
      }
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""

SETTLED = """() => {
  const { tiles, playheadState, timeline } = window.observatory.context;
  return !tiles.loading && playheadState.state
    && Math.abs(playheadState.state.at - timeline.playhead) < 0.002;
}"""

SEEK = """async at => {
  const { timeline, tiles, playheadState } = window.observatory.context;
  const began = performance.now();
  timeline.jump(at);
  const settled = () => tiles.settled && playheadState.state
    && Math.abs(playheadState.state.at - timeline.playhead) < 0.002;
  // the charts request their tiles within two frames
  for (let frame = 0; frame < 2; frame++) await new Promise(resolve => requestAnimationFrame(resolve));
  while (!settled()) await new Promise(resolve => requestAnimationFrame(resolve));
  await new Promise(resolve => requestAnimationFrame(resolve));  // in which they are drawn
  return performance.now() - began;
}"""

COUNT_FRAMES = """() => {
  window.counted = 0;
  const count = () => { window.counted++; requestAnimationFrame(count); };
  requestAnimationFrame(count);
}"""


def _trivial(number: int) -> int:
    return number


def make_report(path: Path) -> None:
    from distributed import Client, LocalCluster, performance_report, wait

    workers = {"n_workers": 4, "threads_per_worker": 2, "silence_logs": "ERROR"}
    with (
        LocalCluster(**workers, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
        performance_report(str(path), mode="inline"),
    ):
        wait(client.map(_trivial, range(REPORT), pure=False))


def store(server: Observatory, sizes: Iterable[int]) -> tuple[dict[int, int], dict[str, Any]]:
    """Store a run of each number of tasks; returns the clusters' ids by it, and facts on storing them."""
    os.environ.update(
        OBSERVATORY_DATA_DIR=str(server.data_dir), DJANGO_SETTINGS_MODULE="observatory.config.settings"
    )
    import django

    django.setup()
    from benchmarks.runs.multiply import Recording, multiplied
    from benchmarks.runs.recording import record
    from observatory.clusters.models import Cluster, Project
    from observatory.replay.tasks import build_cluster
    from observatory.store.connection import connect
    from observatory.store.ingest.writer import Writer

    run = Recording(record())
    found, facts = {}, {"recorded_tasks": run.tasks}
    project = Project.objects.get(slug="default")
    for tasks in sizes:
        length = run.length * max(1, tasks / run.tasks)
        start = float(int(time.time() - length - 3600))
        started = from_seconds(start)
        cluster = Cluster.objects.create(
            project=project,
            scheduler_id=f"benchmark-{tasks}",
            name=f"{tasks} tasks",
            started=started,
            last_seen=started,
        )
        began = time.perf_counter()
        spans = 0
        with Writer() as writer:
            for batch in multiplied(run, cluster.pk, tasks, start):
                spans += batch.count("span")
                committed = writer.write(batch)
        stored = time.perf_counter()
        Cluster.objects.filter(pk=cluster.pk).update(ended=from_seconds(committed.extent.last))
        cluster.refresh_from_db()
        with connect() as connection:
            build_cluster(connection, cluster)
            connection.execute("VACUUM ANALYZE")  # otherwise autovacuum runs while pages are measured
            connection.execute("CHECKPOINT")
            size = connection.execute(
                """SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
                   WHERE inhparent = 'span'::regclass"""
            ).fetchone()
        facts[f"{tasks}"] = {
            "spans": spans,
            "seconds_to_store": round(stored - began, 1),
            "seconds_to_build_tiles": round(time.perf_counter() - stored, 1),
            "bytes_of_all_spans": int(size[0]) if size else 0,
        }
        found[tasks] = cluster.pk
    return found, facts


def open_page(
    browser: Browser, url: str, ready: str, state: Any = None
) -> tuple[float, int, Page, BrowserContext]:
    """Open a page; returns milliseconds until the task stream is drawn, bytes transferred, and the page."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000}, storage_state=state)
    page = context.new_page()
    session = context.new_cdp_session(page)
    received = [0]
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    session.send("Network.enable")
    page.add_init_script(f"({ready})()")
    page.wait_for_timeout(SETTLING)
    page.goto(url, wait_until="commit")
    page.wait_for_function("() => window.drawn", timeout=120_000)
    return float(page.evaluate("() => window.drawn")), int(sum(received)), page, context


ZOOM_KEYS = {"large": "Control", "report": "Alt"}
"""with the wheel; a report zooms with any"""


def frames(page: Page, x: int, y: int, key: str) -> float:
    """Return the animation frames per second while the mouse drags and its wheel, with `key`, zooms."""
    page.evaluate(COUNT_FRAMES)
    page.mouse.move(x, y)
    page.mouse.down()
    began = time.perf_counter()
    step = 0
    while time.perf_counter() - began < MOVING:
        step += 1
        page.mouse.move(x + 150 * (step % 2) - 75 + step % 40, y)
        if step % 10 == 0:
            page.mouse.up()
            page.keyboard.down(key)
            page.mouse.wheel(0, 120 if step % 20 else -120)
            page.keyboard.up(key)
            page.mouse.down()
    taken = time.perf_counter() - began
    page.mouse.up()
    return float(page.evaluate("() => window.counted")) / taken


def measure(browser: Browser, server: Observatory, clusters: dict[int, int], report: Path) -> dict[str, Any]:
    context = browser.new_context()
    server.sign_in(context.new_page())
    state = context.storage_state()
    urls = {tasks: f"{server.url}/clusters/{cluster}/" for tasks, cluster in clusters.items()}
    times: dict[str, list[float]] = {"large": [], "small": [], "report": []}
    received: list[int] = []
    rates: dict[str, list[float]] = {"large": [], "report": []}
    for _ in range(ROUNDS):
        for name, url, ready in (
            ("report", report.as_uri(), REPORT_READY),
            ("small", urls[SMALL], READY),
            ("large", urls[TASKS], READY),
        ):
            taken, got, page, used = open_page(browser, url, ready, None if name == "report" else state)
            times[name].append(taken)
            if name == "large":
                received.append(got)
            if name in rates:
                page.wait_for_timeout(500)
                rates[name].append(frames(page, 700, 450, ZOOM_KEYS[name]))
            used.close()
    _, _, page, used = open_page(browser, urls[TASKS], READY, state)
    page.wait_for_function(SETTLED)
    info = page.evaluate(
        "() => { const { info } = window.observatory.context; return [info.first, info.last]; }"
    )
    generator = random.Random(1)
    page.evaluate(
        """([first, last]) =>
             window.observatory.context.timeline.setWindow(first, first + (last - first) / 50)""",
        info,
    )
    seeks = [float(page.evaluate(SEEK, generator.uniform(*info))) for _ in range(SEEKS)]
    used.close()
    state_times = [generator.uniform(*info) for _ in range(SEEKS)]
    answers = states(server, clusters[TASKS], state["cookies"], state_times)
    return {
        "opened_ms": {name: round(statistics.median(values)) for name, values in times.items()},
        "opened_to_report": _ratio(times["large"], times["report"]),
        "large_to_small": _ratio(times["large"], times["small"]),
        "bytes": round(statistics.median(received)),
        "seek_p95_ms": round(statistics.quantiles(seeks, n=20)[-1]),
        "state_p95_ms": round(statistics.quantiles(answers, n=20)[-1]),
        "frames_per_second": {name: round(statistics.median(values), 1) for name, values in rates.items()},
        "frames_to_report": _ratio(rates["large"], rates["report"]),
    }


def states(server: Observatory, cluster: int, cookies: list[Any], times: list[float]) -> list[float]:
    """Return the server's milliseconds for the state at each time, without a browser running."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    cookie = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in cookies)
    taken = []
    for at in times:
        began = time.perf_counter()
        connection.request("GET", f"/api/v1/clusters/{cluster}/state?at={at}", headers={"Cookie": cookie})
        answer = connection.getresponse()
        answer.read()
        taken.append((time.perf_counter() - began) * 1000)
        assert answer.status == 200, answer.status
    return taken


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return round(statistics.median(one / other for one, other in zip(ours, theirs, strict=True)), 2)


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    report = folder / "report.html"
    server = Observatory(folder / "data")
    try:
        make_report(report)
        server.start()
        clusters, stored = store(server, (SMALL, TASKS))
        # static files are compressed in a server's first minute
        server.stop()
        server.start()
        with sync_playwright() as playwright:
            executable = next(found for name in NAMES if (found := shutil.which(name)))
            browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
            measured = measure(browser, server, clusters, report)
            browser.close()
    finally:
        server.stop()
    spans = stored[str(TASKS)]["spans"] + stored[str(SMALL)]["spans"]
    measured["bytes_per_span"] = round(stored[str(TASKS)]["bytes_of_all_spans"] / spans, 1)
    measured["report_bytes_per_task"] = round(report.stat().st_size / REPORT, 1)
    shutil.rmtree(folder, ignore_errors=True)
    return print_results(
        "scale",
        results(measured),
        ("dask", "distributed", "bokeh", "playwright"),
        **measured,
        stored=stored,
    )


def results(measured: dict[str, Any]) -> list[Result]:
    opened = f"opening a run of {TASKS:,} tasks until its task stream is drawn"
    peer = f"a performance_report of {REPORT:,} tasks"
    return [
        Result(f"time: {opened}", peer, measured["opened_to_report"], 0.3),
        Result(f"time: {opened}", f"a run of {SMALL:,} tasks", measured["large_to_small"], 1.5),
        Result(f"bytes transferred: {opened}", "1 MB", measured["bytes"], 1_000_000),
        Result(
            "animation frames per second while panning and zooming",
            peer,
            measured["frames_to_report"],
            1.0,
            at_least=True,
        ),
        Result(
            "time until all charts show a random playhead time (ms, 95th percentile)",
            "the limit of what feels immediate",
            measured["seek_p95_ms"],
            200,
        ),
        Result(
            "the server's time for the state at a random time (ms, 95th percentile)",
            "a quarter of that",
            measured["state_p95_ms"],
            50,
        ),
        Result("bytes per span in the store", "the columns of a row", measured["bytes_per_span"], 120),
    ]


if __name__ == "__main__":
    sys.exit(main())
