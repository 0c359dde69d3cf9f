"""Time, frames, bytes and processor time of large recordings' pages, relative to a run of 10,000 tasks.

Recordings of many tasks, many workers, many hours and many prefixes are made from a seed and stored in a new
Observatory. The thousand workers are live: this process stores what they send while their page is measured.
The peer is a run of 10,000 tasks of four workers. All are opened cold in the same Chromium.
Prints one JSON line; the exit code is 1 if a limit was missed. SHARE, at most 1, scales the recordings down.
"""

from __future__ import annotations

import itertools
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import scale  # noqa: E402
from benchmarks.measuring.processor import cpu_seconds  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.runs.synthetic import Shape, batches  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402
from tests.support.chromium import ARGUMENTS, NAMES  # noqa: E402

SHARE = float(os.environ.get("SHARE", "1"))
ROUNDS = 5
SMALL = Shape("10,000 tasks on 4 workers", 4, 10_000, 120)
LIVE = Shape("1,000 live workers", 1_000, round(200_000 * SHARE), 600 * SHARE, slice=1)
SPARSE = Shape(
    "3,539 tasks in 48 hours", 1, 3_539, 48 * 3_600, step=172_800 * 33 / 144_000, slice=3_600, duration=2
)
LARGE = (
    Shape("579,000 tasks on 300 workers", 300, round(579_000 * SHARE), 600 * SHARE),
    LIVE,
    SPARSE,
    Shape("3,000 prefixes", 4, round(60_000 * SHARE), 600 * SHARE, prefixes=3_000),
)
TIME, FRAMES, PROCESSOR = 2.0, 0.5, 3.0
"""limits, relative to the small run"""
BYTES = 2_000_000
LONGEST_TASK = 200
"""ms"""
ROOM = 0.2
"""of tiles, relative to the rows that they are made of"""
SPARSE_TILES = 1_000

READY = """() => {
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longTasks.push(duration);
  }).observe({ type: "longtask", buffered: true });
  const look = () => {
    if (document.documentElement.dataset.ready) window.drawn = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
TABLES = """SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits
            WHERE inhparent IN ('span'::regclass, 'sample'::regclass)"""
TILES = """SELECT count(*), coalesce(sum(octet_length(body)), 0) FROM tile WHERE cluster_id = %s"""


class Store:
    """Stores recordings; Django has to be set up."""

    def __init__(self) -> None:
        from observatory.clusters.models import Project

        self.project = Project.objects.get(slug="default")
        self.facts: dict[str, dict[str, Any]] = {}
        self.before: dict[str, int] = {}
        """bytes of all rows before a recording was stored"""

    def add(self, shape: Shape, start: float, is_live: bool = False) -> tuple[int, Iterator[Any]]:
        """Store a recording; returns its cluster, and the batches after it."""
        from observatory.clusters.models import Cluster
        from observatory.store.connection import connect
        from observatory.store.ingest.writer import Writer
        from observatory.store.times import from_seconds

        cluster = Cluster.objects.create(
            project=self.project,
            scheduler_id=f"benchmark-{shape.name}",
            name=shape.name,
            started=from_seconds(start),
            last_seen=from_seconds(start),
            identity_interval=shape.step,
        )
        if is_live:  # as if an agent had just sent something
            agent_heard = from_seconds(time.time()) + timedelta(days=1)
            Cluster.objects.filter(pk=cluster.pk).update(agent_heard=agent_heard)
        with connect() as connection:
            self.before[shape.name] = _room(connection)
            coming = batches(shape, cluster.pk, start)
            spans = samples = 0
            with Writer() as writer:
                for batch in itertools.takewhile(lambda one: one.committed <= start + shape.seconds, coming):
                    spans += batch.count("span")
                    samples += batch.count("sample")
                    committed = writer.write(batch)
            if not is_live:
                Cluster.objects.filter(pk=cluster.pk).update(ended=from_seconds(committed.extent.last))
        self.facts[shape.name] = {"spans": spans, "samples": samples}
        return cluster.pk, coming

    def build(self, shape: Shape, cluster: int) -> None:
        """Build a recording's tiles."""
        from observatory.clusters.models import Cluster
        from observatory.replay.tasks import build_cluster
        from observatory.store.connection import connect

        with connect() as connection:
            build_cluster(connection, Cluster.objects.get(pk=cluster))
            rows = _room(connection) - self.before[shape.name]  # of what is live, more than was stored above
            tiles, size = connection.execute(TILES, [cluster]).fetchone() or (0, 0)
            connection.execute("VACUUM ANALYZE")  # otherwise autovacuum runs while pages are measured
            connection.execute("CHECKPOINT")
        facts = self.facts[shape.name]
        facts |= {
            "tiles": tiles,
            "bytes_of_rows": rows,
            "bytes_of_tiles": int(size),
            "room": round(size / rows, 3),
        }


def _room(connection: Any) -> int:
    return int((connection.execute(TABLES).fetchone() or [0])[0])


def set_up(server: Observatory) -> None:
    os.environ.update(
        OBSERVATORY_DATA_DIR=str(server.data_dir),
        DJANGO_SETTINGS_MODULE="observatory.config.settings",
        DJANGO_ALLOW_ASYNC_UNSAFE="1",  # Playwright runs an event loop in this thread
    )
    import django

    django.setup()


def store(server: Observatory) -> tuple[dict[str, int], dict[str, Any]]:
    """Store the recordings that aren't live; returns the clusters by name, and facts on storing them."""
    set_up(server)
    stored = Store()
    clusters = {}
    for shape in (SMALL, *LARGE):
        if shape is not LIVE:
            start = float(int(time.time() - shape.seconds - 3_600))
            clusters[shape.name], _ = stored.add(shape, start)
            stored.build(shape, clusters[shape.name])
    return clusters, stored.facts


@contextmanager
def live_workers(facts: dict[str, Any]) -> Iterator[int]:
    """Store the live recording and what its workers send meanwhile; yields the cluster."""
    from django.db import connection

    from observatory.store.ingest.writer import Writer

    connection.close()
    connection.close_pool()  # the server has been restarted
    stored = Store()
    cluster, coming = stored.add(LIVE, time.time() - LIVE.seconds, is_live=True)
    stopping = threading.Event()

    def go_on() -> None:
        with Writer() as writer:
            for batch in coming:
                if stopping.wait(max(0.0, batch.committed - time.time())):
                    return
                writer.write(batch)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        stored.build(LIVE, cluster)
        facts |= stored.facts
        yield cluster
    finally:
        stopping.set()
        thread.join()


class Pages:
    """Opens recordings' pages and measures them."""

    def __init__(self, browser: Browser, server: Observatory) -> None:
        self.browser, self.server = browser, server
        self.web = server.child("observatory web")
        context = browser.new_context()
        server.sign_in(context.new_page())
        self.state = context.storage_state()

    def measure(self, clusters: dict[str, int]) -> dict[str, dict[str, list[float]]]:
        """Measure each of the recordings, in turns; returns lists of measurements by name."""
        found: dict[str, dict[str, list[float]]] = {name: {} for name in clusters}
        for _ in range(ROUNDS):
            for name, cluster in clusters.items():
                for what, value in self._open(cluster).items():
                    found[name].setdefault(what, []).append(value)
        return found

    def _open(self, cluster: int) -> dict[str, float]:
        before = cpu_seconds(self.web)
        url = f"{self.server.url}/clusters/{cluster}/"
        ready, received, page, used = scale.open_page(self.browser, url, READY, self.state)
        processor = cpu_seconds(self.web) - before
        opening = longest_task(page)
        page.wait_for_timeout(500)
        frames = scale.frames(page, 700, 450, "Control")
        moving = longest_task(page)
        used.close()
        return {
            "ready_ms": ready,
            "bytes": received,
            "processor_ms": processor * 1000,
            "opening_task_ms": opening,
            "moving_task_ms": moving,
            "frames": frames,
        }


def longest_task(page: Page) -> float:
    """Return the milliseconds of the longest task of the main thread since the last call."""
    return float(page.evaluate("() => Math.max(0, ...window.longTasks.splice(0))"))


def measure(server: Observatory, clusters: dict[str, int], facts: dict[str, Any]) -> dict[str, Any]:
    """Return the medians of each recording's measurements, and the ratios to those of the small run."""
    with sync_playwright() as playwright:
        executable = next(found for name in NAMES if (found := shutil.which(name)))
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        pages = Pages(browser, server)
        found = pages.measure(clusters)
        small = {SMALL.name: clusters[SMALL.name]}
        with live_workers(facts) as cluster:  # beside the small run again, which their records slow down
            beside = pages.measure({**small, LIVE.name: cluster})
        browser.close()
    peers = dict.fromkeys(found, found[SMALL.name]) | {LIVE.name: beside[SMALL.name]}
    found[LIVE.name] = beside[LIVE.name]
    return {
        name: {
            **{what: round(statistics.median(values), 1) for what, values in measured.items()},
            **{
                f"{what}_ratio": scale._ratio(measured[what], peers[name][what])
                for what in ("ready_ms", "processor_ms", "frames")
            },
        }
        for name, measured in found.items()
    }


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    server = Observatory(folder / "data")
    try:
        server.start()
        clusters, facts = store(server)
        # static files are compressed in a server's first minute
        server.stop()
        server.start()
        measured = measure(server, clusters, facts)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for name, about in facts.items():
        measured[name] |= about
    return print_results("large", results(measured), ("playwright",), measured=measured)


def results(measured: dict[str, Any]) -> list[Result]:
    found = []
    for shape in LARGE:
        of = measured[shape.name]
        what = shape.name
        longest = max(of["opening_task_ms"], of["moving_task_ms"])
        found += [
            Result(f"{what}: time until drawn", "a small run", of["ready_ms_ratio"], TIME),
            Result(
                f"{what}: animation frames per second",
                "a small run",
                of["frames_ratio"],
                FRAMES,
                at_least=True,
            ),
            Result(f"{what}: longest task of the page (ms)", "the limit", longest, LONGEST_TASK),
            Result(f"{what}: bytes transferred until drawn", "2 MB", of["bytes"], BYTES),
            Result(
                f"{what}: CPU time of the web process", "a small run", of["processor_ms_ratio"], PROCESSOR
            ),
            Result(f"{shape.name}: room of tiles", "spans and samples", of["room"], ROOM),
        ]
    tiles = measured[SPARSE.name]["tiles"]
    return [*found, Result(f"{SPARSE.name}: tiles", "the limit", tiles, SPARSE_TILES)]


if __name__ == "__main__":
    sys.exit(main())
