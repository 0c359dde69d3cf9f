"""CPU time of 50 open pages of one live cluster, relative to one page. Limit: 5 times, and all stay live.

An Observatory scrapes a real cluster that computes tasks at a steady rate, and a real Chromium shows its
page. The latency from the end of a task to the frame that draws it must be at most 1 s for 95 % of tasks.
The other 49 pages are sockets and requests without browsers, which would need more than this machine: each
repeats every request of the real page. CPU time is that of the web process over DURATION.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from distributed import Client, Future
from distributed.deploy.subprocess import SubprocessCluster
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.processor import cpu_seconds  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402
from tests.support.chromium import ARGUMENTS, NAMES  # noqa: E402

PAGES, DURATION = int(os.environ.get("PAGES", "50")), float(os.environ.get("DURATION", "60"))
TASKS_PER_SECOND, STEP = 100, 0.1
AGE = float(os.environ.get("AGE", "300"))
"""seconds that the cluster runs before pages open: in the first minutes the overview's bins often double,
and then all pages load its tiles again"""
SETTLING = 15.0
LATENCY_LIMIT, CPU_LIMIT = 1.0, 5.0

OBSERVED = """SELECT max(cluster.id) FROM clusters_cluster cluster
              JOIN clusters_project project ON project.id = project_id WHERE NOT is_own"""
MEASURE = """() => {
  const { tiles } = window.observatory.context;
  const append = tiles.append.bind(tiles);
  window.delays = [];
  tiles.append = blocks => {
    const stops = blocks.filter(block => block.kind === "span").flatMap(block => [...block.numbers("stop")]);
    const drawn = window.observatory.frames;
    const shown = () => window.delays.push(...stops.map(stop => Date.now() / 1000 - stop));
    const look = () => requestAnimationFrame(window.observatory.frames > drawn ? shown : look);
    requestAnimationFrame(look);
    return append(blocks);
  };
}"""


def pause(_: int) -> None:
    time.sleep(0.01)


def work(client: Client, stopping: threading.Event) -> None:
    """Compute TASKS_PER_SECOND until `stopping` is set."""
    recent: deque[list[Future]] = deque(maxlen=round(5 / STEP))
    due = time.monotonic()
    while not stopping.is_set():
        recent.append(client.map(pause, range(round(TASKS_PER_SECOND * STEP)), pure=False))
        due += STEP
        stopping.wait(max(0.0, due - time.monotonic()))


@contextmanager
def busy_cluster() -> Iterator[str]:
    """Run a real cluster with a steady load; yields the scheduler's address."""
    stopping = threading.Event()
    with (
        SubprocessCluster(n_workers=2, threads_per_worker=2, silence_logs="ERROR") as cluster,
        Client(cluster) as client,
    ):
        thread = threading.Thread(target=work, args=(client, stopping))
        thread.start()
        try:
            yield client.dashboard_link.removesuffix("/status")
        finally:
            stopping.set()
            thread.join()


class Others:
    """Pages without browsers, in another process; they repeat the requests of the real page."""

    def __init__(self, server: Observatory, cluster: int, session: str, count: int) -> None:
        command = [sys.executable, "-m", "benchmarks.simulated.viewers", server.url, str(cluster), session]
        self.process = subprocess.Popen(
            [*command, str(count)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def repeat(self, request: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def finish(self) -> Any:
        """Stop them and return what they received."""
        received, _ = self.process.communicate(timeout=60)
        return json.loads(received)


class Bench:
    def __init__(self, server: Observatory, page: Page) -> None:
        self.server, self.page = server, page
        self.web = server.child("observatory web")
        self.all = psutil.Process(self.web.ppid())
        self.requests: Counter[str] = Counter()
        self.others: Others | None = None
        page.on("request", lambda request: self._requested(request.url))

    def _requested(self, url: str) -> None:
        path = urlsplit(url)
        if path.scheme.startswith("http") and path.path.startswith("/api/"):
            self.requests[path.path.rstrip("0123456789/")] += 1
            if self.others is not None:
                self.others.repeat(url.removeprefix(self.server.url))

    def measure(self) -> dict[str, Any]:
        """Measure the cores used by the web process and by all of Observatory, and the page's latencies."""
        self.page.wait_for_timeout(SETTLING * 1000)
        self.page.evaluate("() => { window.delays = []; }")
        self.requests.clear()
        began, before, all_before = time.monotonic(), cpu_seconds(self.web), cpu_seconds(self.all)
        self.page.wait_for_timeout(DURATION * 1000)
        seconds, cores = time.monotonic() - began, cpu_seconds(self.web) - before
        of_all = cpu_seconds(self.all) - all_before
        delays = self.page.evaluate("() => window.delays ?? []")
        found = {"cores": round(cores / seconds, 4), "cores_of_all": round(of_all / seconds, 4)}
        found["load"] = os.getloadavg()[0]
        if delays:
            found |= {"events": len(delays), "median": round(statistics.median(delays), 3)}
            found["p95"] = round(statistics.quantiles(delays, n=20)[-1], 3)
        return {**found, "requests": dict(self.requests)}


def measure(server: Observatory, page: Page, session: str) -> dict[str, Any]:
    bench = Bench(server, page)
    cluster = int(str(server.query(OBSERVED)))
    found = {"no page": bench.measure()}
    page.goto(f"{server.url}/clusters/{cluster}/")
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'", timeout=60_000)
    page.evaluate(MEASURE)
    found["1 page"] = bench.measure()
    bench.others = Others(server, cluster, session, PAGES - 1)
    found["all pages"] = bench.measure()
    others, bench.others = bench.others, None
    return {**found, "received by other pages": others.finish()}


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    server = Observatory(folder / "data")
    try:
        server.start()
        with busy_cluster() as scheduler, sync_playwright() as playwright:
            server.watch(scheduler, "benchmark")
            executable = next(found for name in NAMES if (found := shutil.which(name)))
            browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
            context = browser.new_context(viewport={"width": 1600, "height": 1000})
            page = context.new_page()
            server.sign_in(page)
            session = next(cookie["value"] for cookie in context.cookies() if cookie["name"] == "sessionid")
            page.goto("about:blank")
            time.sleep(AGE)
            found = measure(server, page, session)
            chromium = browser.version
            browser.close()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    one, many = found["1 page"], found["all pages"]
    results = [
        Result(
            f"CPU time of the web process with {PAGES} open pages of a live cluster",
            "1 page",
            round(many["cores"] / one["cores"], 2),
            CPU_LIMIT,
        ),
        Result(
            f"CPU time of all of Observatory's processes with {PAGES} open pages",
            "1 page",
            round(many["cores_of_all"] / one["cores_of_all"], 2),
        ),
        Result(
            f"latency from an event to the screen with {PAGES} pages (s, 95th percentile)",
            "1 s",
            many["p95"],
            LATENCY_LIMIT,
        ),
    ]
    libraries = ("distributed", "channels", "uvicorn", "playwright")
    return print_results(
        "fifty_pages",
        results,
        libraries,
        measured=found,
        tasks_per_second=TASKS_PER_SECOND,
        chromium=chromium,
    )


if __name__ == "__main__":
    sys.exit(main())
