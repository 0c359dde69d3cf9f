"""Time to open each tab of a run of a million tasks, relative to a performance_report.

A real run is multiplied to 1,000,000 tasks and stored in a new Observatory. The peer is a performance_report
of a real LocalCluster with 100,000 tasks, which is as many as a report of any run has. Both are opened cold
in the same Chromium, each tab by its address. A tab is usable when all its charts in sight are drawn from
loaded data.
Prints one JSON line; the exit code is 1 if a limit was missed. TASKS and REPORT set the sizes.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import scale  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402
from tests.support.chromium import ARGUMENTS, NAMES  # noqa: E402

ROUNDS = 5
LIMIT = 1500
"""ms: what still feels like opening a page"""
# nothing in sight waits: for tiles, for the state at the playhead, for an answer on the window
READY = """() => {
  const isInSight = (panel) => {
    const { top, bottom } = panel.getBoundingClientRect();
    return top < innerHeight && bottom > 0;
  };
  const isLoading = (note) => note.checkVisibility() && note.textContent.startsWith("loading");
  const waits = (panel) =>
    panel.classList.contains("is-stale") || [...panel.querySelectorAll(".chart-empty")].some(isLoading);
  const look = () => {
    const { ready } = document.documentElement.dataset;
    const panels = [...document.querySelectorAll("[data-chart]")].filter(isInSight);
    const isUsable = ready && panels.length > 0 && !observatory.context.tiles.loading && !panels.some(waits);
    requestAnimationFrame(isUsable ? () => { window.drawn = performance.now(); } : look);
  };
  requestAnimationFrame(look);
}"""


def measure(browser: Browser, server: Observatory, cluster: int, report: Path) -> dict[str, Any]:
    """Median milliseconds of the report and of each tab, and those of the tabs relative to the report's."""
    from observatory.replay.tabs import TABS  # Django is set up since scale.store()

    context = browser.new_context()
    server.sign_in(context.new_page())
    state = context.storage_state()
    times: dict[str, list[float]] = {name: [] for name in ("report", *(tab.name for tab in TABS))}
    for _ in range(ROUNDS):
        for name, taken in times.items():
            is_report = name == "report"
            url = report.as_uri() if is_report else f"{server.url}/clusters/{cluster}/?tab={name}"
            ready = scale.REPORT_READY if is_report else READY
            took, _, _, used = scale.open_page(browser, url, ready, None if is_report else state)
            taken.append(took)
            used.close()
    theirs = times.pop("report")
    ratios = {
        name: statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
        for name, ours in times.items()
    }
    return {
        "report_ms": round(statistics.median(theirs)),
        "tabs_ms": {name: round(statistics.median(ours)) for name, ours in times.items()},
        "tabs_to_report": {name: round(ratio, 2) for name, ratio in ratios.items()},
    }


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    report = folder / "report.html"
    server = Observatory(folder / "data")
    try:
        scale.make_report(report)
        server.start()
        clusters, _ = scale.store(server, (scale.TASKS,))
        # static files are compressed in a server's first minute
        server.stop()
        server.start()
        with sync_playwright() as playwright:
            executable = next(found for name in NAMES if (found := shutil.which(name)))
            browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
            measured = measure(browser, server, clusters[scale.TASKS], report)
            browser.close()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return print_results(
        "tabs", results(measured), ("dask", "distributed", "bokeh", "playwright"), **measured
    )


def results(measured: dict[str, Any]) -> list[Result]:
    from observatory.replay.tabs import TABS

    run = f"of a run of {scale.TASKS:,} tasks"
    peer = "a performance_report"
    return [
        Result(f"slowest tab {run} (ms)", "the limit", max(measured["tabs_ms"].values()), LIMIT),
        *(Result(f"tab {tab.title}", peer, measured["tabs_to_report"][tab.name], 1.0) for tab in TABS),
    ]


if __name__ == "__main__":
    sys.exit(main())
