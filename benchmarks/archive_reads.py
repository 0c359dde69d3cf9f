"""Reading from the archive: opening a run, seeking in it, long series; adoption, and ingest beside archiving.

A real run is multiplied to TASKS tasks and stored in a new Observatory. Its page is opened and its playhead
moved, first with all rows in their tables, then with all rows in the archive alone. Then its database is lost
and adopted from the folder. Prints one JSON line; the exit code is 1 if a limit was missed. TASKS and SERIES
set the sizes.
"""

from __future__ import annotations

import http.client
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import scale  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.runs.synthetic import Shape, batches  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402
from tests.support.chromium import ARGUMENTS, NAMES  # noqa: E402

TASKS = int(os.environ.get("TASKS", "1000000"))
SERIES = int(os.environ.get("SERIES", "1000"))
ROUNDS, SEEKS, MEANWHILE = 5, 40, 8
READ = {"span", "transition", "sample"}
"""what a seek reads"""
LONGEST_FETCH = 600.0
DAYS, DAY = 30, 86_400
SPARSE, DENSE = 600, 10
"""seconds between two samples of a series: of the 30 days, and of the day that is read raw"""
METRIC = "observatory_worker_memory_bytes"
INGEST_SECONDS = 20.0
FIRST_TOUCH, OPENING, SEEKING = 500, 1.1, 1.1
"""ms; relative to rows in the tables"""
LONG, RAW = 2.0, 5.0
"""seconds"""
LEAST_INGEST = 0.9
WINDOW = """([first, last]) =>
    window.observatory.context.timeline.setWindow(first, first + (last - first) / 50)"""
PATHS = ("lanes", "logs", "log-counts", "search?q=sum", "outliers")
"""of the API, whose answers are compared"""


def archived_server(folder: Path) -> Observatory:
    """An Observatory whose archive is a folder, which this process uses as well. Django is set up."""
    archive = folder / "archive"
    archive.mkdir()
    server = Observatory(folder / "data")
    server.environment["OBSERVATORY_ARCHIVE"] = str(archive)
    os.environ.update(
        OBSERVATORY_ARCHIVE=str(archive),
        OBSERVATORY_DATA_DIR=str(server.data_dir),
        DJANGO_ALLOW_ASYNC_UNSAFE="1",  # Playwright runs an event loop in this thread
    )
    return server


def leave_tables(cluster: int) -> None:
    """Have all rows of an archived cluster in the archive alone, as if nobody had needed them for long.

    Waits until no process takes it as known that they are in their tables. Meanwhile the worker may need
    them, as the cluster ended lately: then they leave again.
    """
    from observatory.store.archive import needed, presence
    from observatory.store.archive.place import required_place
    from observatory.store.archive.removal.departure import remove_rows
    from observatory.store.archive.rounds.pace import Pace
    from observatory.store.archive.rounds.round import archive_round
    from observatory.store.connection import connect

    with connect() as connection:
        while not presence.is_any_listed(connection) or not _is_removed(connection, cluster):
            archive_round(float("inf"))
            presence.list_kinds(connection, cluster)
            connection.execute("UPDATE archived_rows SET used = now() - interval '1 day'")
            needed.forget()
            remove_rows(cluster, required_place(), Pace())
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")
            time.sleep(needed.REMEMBERED + 1)


def nobody_looked(cluster: int) -> None:
    """Have the next page of a cluster be the first one that is opened."""
    from django.core.cache import cache

    from observatory.store.reading.scanning import visit_key

    cache.delete(visit_key(cluster))


def _is_removed(connection: Any, cluster: int) -> bool:
    row = connection.execute(
        "SELECT count(*) FILTER (WHERE NOT is_removed), count(*) FROM archived_rows WHERE cluster_id = %s",
        [cluster],
    ).fetchone()
    return row is not None and row[0] == 0 and row[1] > 0


def opened(
    browser: Browser, server: Observatory, state: Any, cluster: int, before: Callable[[], None]
) -> list[float]:
    """Milliseconds until the task stream is drawn, opened cold so many times; `before` each."""
    found = []
    for _ in range(ROUNDS):
        before()
        taken, _, _, used = scale.open_page(browser, f"{server.url}/clusters/{cluster}/", scale.READY, state)
        found.append(taken)
        used.close()
    return found


@dataclass(frozen=True, slots=True)
class Seeks:
    """Milliseconds until all charts show an instant, of random ones."""

    first: float
    meanwhile: list[float]
    """while archived rows come back into their tables"""
    further: list[float]


def seeks(browser: Browser, server: Observatory, state: Any, cluster: int) -> Seeks:
    """In a page of its own."""
    _, _, page, used = scale.open_page(browser, f"{server.url}/clusters/{cluster}/", scale.READY, state)
    first, last = page.evaluate(
        "() => { const { info } = window.observatory.context; return [info.first, info.last]; }"
    )
    page.evaluate(WINDOW, [first, last])
    generator = random.Random(1)
    page.set_default_timeout(600_000)

    def seek() -> float:
        return float(page.evaluate(scale.SEEK, generator.uniform(first, last)))

    from observatory.store.reading.scanning import OPENING as SECONDS_OF_OPENING

    time.sleep(SECONDS_OF_OPENING)  # people look at what was opened; later seeks bring rows back
    touch = seek()
    meanwhile = [seek() for _ in range(MEANWHILE)]
    wait_for_rows(cluster)
    found = Seeks(touch, meanwhile, [seek() for _ in range(SEEKS)])
    used.close()
    return found


def wait_for_rows(cluster: int) -> None:
    """Wait until what seeks read is in its tables."""
    from observatory.store.archive import presence
    from observatory.store.connection import connect

    until = time.monotonic() + LONGEST_FETCH
    with connect() as connection:
        while READ & set(presence.removed_kinds(connection, cluster)):
            assert time.monotonic() < until, "rows did not come back"
            time.sleep(0.2)


def answers(server: Observatory, state: Any, cluster: int) -> dict[str, bytes]:
    """What the API says of a cluster, by path."""
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in state["cookies"])
    return {path: answer(server, cookie, f"/api/v1/clusters/{cluster}/{path}") for path in PATHS}


def answer(server: Observatory, cookie: str, path: str) -> bytes:
    while True:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)) as connection:
            connection.request("GET", path, headers={"Cookie": cookie})
            response = connection.getresponse()
            text = response.read()
        if response.status != 503:  # it is being fetched
            assert response.status == 200, (path, response.status, text[:300])
            return text
        time.sleep(1)


def make_series(name: str, seconds: int, step: int) -> int:
    """An ended cluster with SERIES series of a metric, one sample each `step` seconds, and its tiles."""
    from observatory.clusters.models import Cluster, Project
    from observatory.replay.tasks import build_cluster
    from observatory.store.connection import connect
    from observatory.store.ingest.batches.batch import Batch
    from observatory.store.ingest.writer import Writer
    from observatory.store.times import from_seconds
    from observatory.wire.records import Sample, Series, WorkerSeen

    start = float(int(time.time()) // DAY * DAY - seconds - DAY)
    cluster = Cluster.objects.create(
        project=Project.objects.get(slug="default"),
        scheduler_id=f"benchmark-{name}",
        name=name,
        started=from_seconds(start),
        last_seen=from_seconds(start + seconds),
        identity_interval=step,
        metrics_interval=step,
    )
    addresses = [f"tcp://10.1.{number // 250}.{number % 250}:4000" for number in range(SERIES)]
    series = [Series(METRIC, (("type", "process"),), address) for address in addresses]
    seen = [
        WorkerSeen(each, f"w{place}", "h", 1, 2**33, start, "running", {}, {})
        for place, each in enumerate(addresses)
    ]
    chance = random.Random(3)
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, workers=seen))
        for first in range(0, seconds, 50 * step):
            times = [start + at for at in range(first, min(first + 50 * step, seconds), step)]
            samples = [
                Sample(each, at, chance.random() * 1e9 // 4096 * 4096) for at in times for each in series
            ]
            writer.write(Batch.of(cluster.pk, samples=samples, committed=times[-1] + step))
    Cluster.objects.filter(pk=cluster.pk).update(ended=from_seconds(start + seconds))
    cluster.refresh_from_db()
    with connect() as connection:
        build_cluster(connection, cluster)
    return int(cluster.pk)


def read_tiles(cluster: int) -> float:
    """Seconds of reading the tiles of memory of all of a cluster's time, as its page does."""
    from observatory.clusters.models import Cluster
    from observatory.replay.scope import Scope
    from observatory.replay.tiles.builder import covering_tile_ids, get_tile
    from observatory.replay.tiles.layers import Layer
    from observatory.store.archive import presence
    from observatory.store.connection import connect, connect_reader
    from observatory.store.queries.extents import read_extent
    from observatory.store.queries.timeline import snapshot
    from observatory.wire.layers import BAND

    scope = Scope(Cluster.objects.get(pk=cluster))
    with connect() as connection:
        removed = presence.removed_kinds(connection, cluster)
    with connect_reader() as reader:
        began = time.perf_counter()
        with snapshot(reader):
            extent = read_extent(reader, cluster)
            assert extent is not None
            for tile in covering_tile_ids(extent.first, extent.last):
                for band in range(-(-SERIES // BAND)):
                    assert get_tile(reader, scope, Layer("memory", band), tile)
        seconds = time.perf_counter() - began
    with connect() as connection:
        assert presence.removed_kinds(connection, cluster) == removed, "rows were brought back for tiles"
    return seconds


def read_raw(cluster: int) -> tuple[float, int]:
    """Seconds of reading all samples of a day in files, and their number."""
    from observatory.clusters.models import Cluster
    from observatory.store.archive.scans.conditions import Condition, OneOf
    from observatory.store.connection import connect_reader
    from observatory.store.queries.alerts.series import SeriesWindow, series_within
    from observatory.store.queries.timeline import snapshot
    from observatory.store.reading.archived_samples import archived_samples
    from observatory.store.times import to_microseconds

    found = Cluster.objects.get(pk=cluster)
    assert found.ended
    start, stop = to_microseconds(found.started), to_microseconds(found.ended)
    condition = Condition((OneOf(("metric",), frozenset({METRIC})),), found.started, found.ended)
    number = 0
    began = time.perf_counter()
    with connect_reader() as reader, snapshot(reader):
        series = series_within(reader, {cluster: (start, stop)}, [METRIC])[cluster]
        with archived_samples(reader, cluster, condition) as samples:
            assert samples is not None, "they are in their table"
            hour = 3_600_000_000
            for first in range(start, stop, hour):
                windows = [SeriesWindow(each.id, cluster, first, min(first + hour, stop)) for each in series]
                number += len(samples(reader, windows)["value"])
    return time.perf_counter() - began, number


@contextmanager
def archiving() -> Iterator[None]:
    """Archive what is in the tables again and again meanwhile."""
    from observatory.store.archive import catalogue
    from observatory.store.archive.rounds.round import archive_round
    from observatory.store.connection import connect

    stopping = threading.Event()

    def go_on() -> None:
        while not stopping.is_set():
            with connect() as connection:
                catalogue.leave_all(connection)
            archive_round(INGEST_SECONDS)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def ingested(name: str) -> float:
    """Records a second that a writer stores of a live cluster, as fast as it can."""
    from observatory.clusters.models import Cluster, Project
    from observatory.store.ingest.writer import Writer
    from observatory.store.times import from_seconds

    shape = Shape(name, 50, 500_000, 3_600)
    start = time.time() - 3_600
    cluster = Cluster.objects.create(
        project=Project.objects.get(slug="default"),
        scheduler_id=f"benchmark-{name}",
        name=name,
        started=from_seconds(start),
        last_seen=from_seconds(start),
    )
    records = 0
    prepared = [batch for batch, _ in zip(batches(shape, cluster.pk, start), range(2_000), strict=False)]
    began = time.perf_counter()
    with Writer() as writer:
        for batch in prepared:
            records += len(batch)
            writer.write(batch)
            if time.perf_counter() - began > INGEST_SECONDS:
                break
    return records / (time.perf_counter() - began)


def measure(folder: Path) -> dict[str, Any]:
    server = archived_server(folder)
    with sync_playwright() as playwright:
        executable = next(found for name in NAMES if (found := shutil.which(name)))
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        try:
            server.start()
            clusters, _ = scale.store(server, [TASKS])
            cluster = clusters[TASKS]
            # static files are compressed in a server's first minute
            server.stop()
            server.start()
            reconnect()
            state = signed_in(browser, server)  # the link signs in once
            measured: dict[str, Any] = {}
            for part in (
                lambda: of_pages(browser, server, state, cluster),
                of_series,
                lambda: of_ingest(cluster),
                lambda: of_adoption(browser, server, state, folder, cluster),
            ):
                measured |= part()
                print(measured, file=sys.stderr)  # a run takes long, and what follows can fail
            return measured
        finally:
            browser.close()
            server.stop()


def reconnect() -> None:
    """The server was restarted."""
    from django.db import connection

    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]


def of_pages(browser: Browser, server: Observatory, state: Any, cluster: int) -> dict[str, Any]:
    rows = opened(browser, server, state, cluster, lambda: None)
    in_rows = seeks(browser, server, state, cluster)

    def archive() -> None:
        leave_tables(cluster)
        nobody_looked(cluster)

    archived = opened(browser, server, state, cluster, archive)
    archive()
    in_archive = seeks(browser, server, state, cluster)
    return {
        "opened_ms": statistics.median(archived),
        "opening": statistics.median(archived) / statistics.median(rows),
        "first_touch_ms": in_archive.first,
        "meanwhile_ms": statistics.median(in_archive.meanwhile),
        "seeking": percentile(in_archive.further) / percentile(in_rows.further),
        "seek_ms": percentile(in_archive.further),
    }


def percentile(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def signed_in(browser: Browser, server: Observatory) -> Any:
    context = browser.new_context()
    server.sign_in(context.new_page())
    return context.storage_state()


def of_series() -> dict[str, Any]:
    long = make_series("30 days", DAYS * DAY, SPARSE)
    leave_tables(long)
    tiles = read_tiles(long)
    day = make_series("a day", DAY, DENSE)
    leave_tables(day)
    seconds, number = read_raw(day)
    return {"long_s": tiles, "raw_s": seconds, "raw_samples": number}


def of_ingest(cluster: int) -> dict[str, Any]:
    alone = [ingested(f"alone {place}") for place in range(3)]
    from observatory.store.archive.restoring.bringing_back import bring_back
    from observatory.wire.kinds import stored_kinds

    bring_back(cluster, [kind.name for kind in stored_kinds()])
    with archiving():
        beside = [ingested(f"beside {place}") for place in range(3)]
    return {"ingest": statistics.median(beside) / statistics.median(alone)}


def of_adoption(
    browser: Browser, server: Observatory, state: Any, folder: Path, cluster: int
) -> dict[str, Any]:
    leave_tables(cluster)
    before = answers(server, state, cluster)
    server.stop()
    again = Observatory(folder / "again")
    again.environment["OBSERVATORY_ARCHIVE"] = server.environment["OBSERVATORY_ARCHIVE"]
    try:
        again.start()
        began = time.perf_counter()
        again.manage("archive", "adopt", "default")
        seconds = time.perf_counter() - began
        after = answers(again, signed_in(browser, again), cluster)
    finally:
        again.stop()
    same = sum(before[path] == after[path] for path in before)
    return {"adopt_s": seconds, "same_answers": same / len(before)}


def results(measured: dict[str, Any]) -> Iterator[Result]:
    of_tasks, rows = f"a run of {TASKS:,} tasks in the archive alone", "the same from rows"
    yield Result(f"opening {of_tasks}, until its task stream is drawn", rows, measured["opening"], OPENING)
    yield Result(f"first seek in {of_tasks} (ms)", "the limit", measured["first_touch_ms"], FIRST_TOUCH)
    yield Result(
        f"further seeks in {of_tasks} once its rows are back, 95 %", rows, measured["seeking"], SEEKING
    )
    yield Result(
        f"{DAYS} days of {SERIES:,} archived series from kept tiles (s)",
        "the limit",
        measured["long_s"],
        LONG,
    )
    yield Result(
        f"a day of {SERIES:,} archived series raw, a sample each {DENSE} s (s)",
        "the limit",
        measured["raw_s"],
        RAW,
    )
    yield Result(
        "ingest while a cluster is archived", "ingest alone", measured["ingest"], LEAST_INGEST, at_least=True
    )
    yield Result(
        "answers of a cluster that are the same after adoption", "before", measured["same_answers"], 1.0, True
    )


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    try:
        measured = measure(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return print_results("archive_reads", results(measured), ["playwright", "pyarrow"], **measured)


if __name__ == "__main__":
    sys.exit(main())
