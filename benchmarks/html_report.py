"""Size and drawing time of a run's HTML file, relative to a performance_report of the same run.

A real LocalCluster computes TASKS tasks, recorded by an agent and a performance_report at the same time. Both
files are self-contained (the report with mode="inline") and are opened cold from disk in the same Chromium.
Prints one JSON line; the exit code is 1 if a limit was missed.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.scale import READY, REPORT_READY, open_page  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402
from tests.support.chromium import ARGUMENTS, NAMES  # noqa: E402

TASKS = int(os.environ.get("TASKS", "10000"))
ROUNDS = 5
NAME = "html-report"


def _work(number: int) -> int:
    return sum(range(number % 1000 * 10))


def compute(server: Observatory, theirs: Path, from_network: Path) -> None:
    """Write the performance_reports of a run that an agent records."""
    from distributed import Client, LocalCluster, performance_report, wait

    import observatory.agent

    token = server.manage("ingest_token", "default").strip()
    workers = {"n_workers": 4, "threads_per_worker": 2, "silence_logs": "ERROR"}
    with LocalCluster(**workers, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        observatory.agent.register(client, url=server.url, token=token, name=NAME)
        with performance_report(str(theirs), mode="inline"), performance_report(str(from_network)):
            wait(client.map(_work, range(TASKS), pure=False))
        time.sleep(1)


def export(server: Observatory, ours: Path) -> tuple[int, float]:
    """Write the run's HTML file; returns its number of tasks and the seconds taken."""
    os.environ.update(
        OBSERVATORY_DATA_DIR=str(server.data_dir), DJANGO_SETTINGS_MODULE="observatory.config.settings"
    )
    import django

    django.setup()
    from observatory.clusters.models import Cluster
    from observatory.exchange.formats import FORMATS
    from observatory.replay.scope import Scope
    from observatory.store.connection import close_pools
    from observatory.store.queries.extents import extents

    deadline = time.monotonic() + 60
    while not Cluster.objects.filter(name=NAME, ended__isnull=False).exists():
        if time.monotonic() > deadline:
            raise RuntimeError("the end of the cluster was not reported")
        time.sleep(0.5)
    cluster = Cluster.objects.get(name=NAME)
    began = time.perf_counter()
    with ours.open("wb") as file:
        FORMATS["html"].write(Scope(cluster), NAME, file, lambda done: None)
    taken = time.perf_counter() - began
    close_pools()
    return extents([cluster.pk])[cluster.pk].tasks, taken


def measure(ours: Path, theirs: Path) -> dict[str, Any]:
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    with sync_playwright() as playwright:
        executable = next(found for name in NAMES if (found := shutil.which(name)))
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        for _ in range(ROUNDS):
            for name, path, ready in (("theirs", theirs, REPORT_READY), ("ours", ours, READY)):
                taken, _, _, used = open_page(browser, path.as_uri(), ready)
                times[name].append(taken)
                used.close()
        browser.close()
    ratios = [one / other for one, other in zip(times["ours"], times["theirs"], strict=True)]
    return {
        "drawn_ms": {name: round(statistics.median(values)) for name, values in times.items()},
        "drawn_to_report": round(statistics.median(ratios), 2),
        "bytes": {"ours": ours.stat().st_size, "theirs": theirs.stat().st_size},
        "bytes_to_report": round(ours.stat().st_size / theirs.stat().st_size, 2),
    }


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    ours, theirs, from_network = (folder / f"{name}.html" for name in ("ours", "theirs", "from_network"))
    server = Observatory(folder / "data")
    try:
        server.start()
        compute(server, theirs, from_network)
        tasks, seconds = export(server, ours)
        measured = measure(ours, theirs)
        measured["bytes"]["theirs without Bokeh"] = from_network.stat().st_size
        measured["bytes_to_report_from_network"] = round(ours.stat().st_size / from_network.stat().st_size, 2)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    measured |= {"tasks": tasks, "seconds_to_export": round(seconds, 1)}
    versions = ("dask", "distributed", "bokeh", "playwright")
    return print_results("html_report", results(measured), versions, **measured)


def results(measured: dict[str, Any]) -> list[Result]:
    peer = "a self-contained performance_report"
    file = f"HTML file of {TASKS:,} tasks"
    return [
        Result(f"size: {file}", peer, measured["bytes_to_report"], 1.0),
        Result(
            f"size: {file}",
            "one that loads Bokeh from the network",
            measured["bytes_to_report_from_network"],
            1.0,
        ),
        Result(
            f"time until its task stream is drawn: {file}",
            peer,
            measured["drawn_to_report"],
            1.0,
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
