"""The HTML file of a run of up to 50,000 tasks has each of them, on every level; larger runs are summed."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import re
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from distributed import Scheduler
from distributed.diagnostics.task_stream import TaskStreamPlugin
from playwright.sync_api import Browser

from observatory.clusters.models import Cluster
from observatory.exchange.formats import FORMATS
from observatory.exchange.formats.report_spans import MOST_TASKS
from observatory.replay.scope import Scope
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.blocks import Block, decode
from observatory.wire.records import Action, Span
from tests.replay.conftest import make_cluster
from tests.support.chromium import TIMEOUT

TASKS = 50_001
WORKERS = [f"tcp://10.0.0.1:{number}" for number in range(70)]
"""in two bands"""
STEP = 2.0
"""seconds between the starts of two tasks of a worker: as a bin of 1.05 s and more, they would be summed"""
ROWS = """() => {
  const { context } = window.observatory;
  const { timeline, tiles, model } = context;
  const found = { span: 0, busy: 0, keys: new Set() };
  for (const layer of ["spans", "spans.1"]) {
    for (const tile of tiles.cover("test", layer, timeline.start, timeline.stop, 1000)) {
      found.busy += (tile.blocks.get("busy") ?? []).reduce((sum, block) => sum + block.rows, 0);
      for (const block of tile.blocks.get("span") ?? []) {
        for (let row = 0; row < block.rows; row++) found.keys.add(block.texts("key").at(row));
      }
    }
  }
  return { busy: found.busy, keys: found.keys.size };
}"""


@pytest.fixture(scope="module")
def spans() -> list[Span]:
    """In order of time; each takes some milliseconds, and a transfer precedes every tenth."""
    random = Random(1)
    first = time.time() - 100_000
    found = []
    for number in range(TASKS):
        key, worker = f"work-{uuid.UUID(int=random.getrandbits(128)).hex}", WORKERS[number % len(WORKERS)]
        start = round(first + number // len(WORKERS) * STEP + random.random(), 6)
        stop = round(start + random.uniform(0.001, 0.5), 6)
        found.append(Span(worker, 1, key, "work", key, Action.COMPUTE, start, stop, 28, "int"))
        if number % 10 == 0:
            found.append(
                Span(worker, 1, key, "work", key, Action.TRANSFER, start - 0.01, start - 0.001, 8, "int")
            )
    return found


@pytest.fixture(scope="module")
def cluster(committed: None, spans: list[Span]) -> Cluster:
    cluster = make_cluster(spans[0].start - 1)
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, spans=spans, committed=time.time()))
    return cluster


@pytest.fixture(scope="module", autouse=True)
def few_states() -> Iterator[None]:
    """The states of 300 instants take seconds to read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("observatory.exchange.formats.report_instants.FEWEST_INSTANTS", 2)
        patch.setattr("observatory.exchange.formats.report_instants.MOST_INSTANTS", 2)
        yield


def run_of(cluster: Cluster, spans: list[Span], tasks: int) -> tuple[Scope, list[Span]]:
    """A window of the first tasks, which ends between two of them, and its spans."""
    computed = sorted((span for span in spans if span.action == Action.COMPUTE), key=lambda span: span.start)
    start, stop = round(computed[0].start * 1e6) - 500_000, round(computed[tasks - 1].start * 1e6) + 1
    inside = [span for span in spans if span.start * 1e6 < stop]
    return Scope(cluster, start, stop, tasks=tasks), inside


def file_of(scope: Scope) -> bytes:
    file = io.BytesIO()
    FORMATS["html"].write(scope, "a run", file, lambda done: None)
    return file.getvalue()


def packed(file: bytes) -> list[Block]:
    found = re.search(rb'data-path="/spans"[^>]*>([^<]+)<', file)
    assert found is not None
    entry = gzip.decompress(base64.b64decode(found[1]))
    return [block for block in decode(entry) if block.kind == "packed-span"]


@pytest.fixture(scope="module")
def files(cluster: Cluster, spans: list[Span]) -> dict[int, bytes]:
    """By the number of tasks."""
    return {tasks: file_of(run_of(cluster, spans, tasks)[0]) for tasks in (1_796, 50_000)}


@pytest.mark.parametrize("tasks", [1_796, 50_000])
def test_each_task_of_the_run_is_in_the_file(
    cluster: Cluster, spans: list[Span], files: dict[int, bytes], tasks: int
) -> None:
    scope, inside = run_of(cluster, spans, tasks)
    found = []
    for block in packed(files[tasks]):
        time = 0.0
        for row in zip(*map(block.list, ("key", "action", "gap", "duration")), strict=True):
            start = time + row[2]
            time = start + row[3]
            found.append((row[0], row[1], round(start), round(time)))
    expected = [
        (span.key, span.action, round(span.start * 1e6), min(round(span.stop * 1e6), scope.stop))
        for span in inside
    ]
    assert sorted(found) == sorted(expected)
    assert len([row for row in found if row[1] == Action.COMPUTE]) == tasks


def test_the_spans_of_each_band_of_workers_are_a_block(files: dict[int, bytes]) -> None:
    blocks = packed(files[1_796])
    assert [block.meta["layer"] for block in blocks] == ["spans", "spans.1"]
    assert [len(set(block.list("lane"))) for block in blocks] == [64, 6]


def test_a_file_of_50_000_tasks_is_smaller_than_a_performance_report(
    cluster: Cluster, spans: list[Span], files: dict[int, bytes]
) -> None:
    _, inside = run_of(cluster, spans, 50_000)
    with ThreadPoolExecutor(1) as thread:  # Playwright's event loop runs in this one
        theirs = thread.submit(lambda: asyncio.run(performance_report(inside))).result()
    assert theirs.count("work-") >= 50_000
    assert len(files[50_000]) < 0.6 * len(theirs)


async def performance_report(spans: list[Span]) -> str:
    """Dask's report of the spans, which loads Bokeh from the network."""
    async with Scheduler(
        dashboard=False, dashboard_address="127.0.0.1:0", host="127.0.0.1", port=0
    ) as scheduler:
        plugin = TaskStreamPlugin(scheduler)
        scheduler.plugins[plugin.name] = plugin
        plugin.buffer.extend(
            {
                "key": span.key,
                "name": span.prefix,
                "worker": span.worker,
                "thread": span.thread,
                "nbytes": span.nbytes,
                "type": span.typename,
                "status": "OK",
                "startstops": [{"action": span.action.name.lower(), "start": span.start, "stop": span.stop}],
            }
            for span in spans
        )
        report = await scheduler.performance_report(spans[0].start - 1, 0, code="", mode="cdn")
        return str(report)


def test_a_file_of_more_tasks_than_its_limit_says_which_are_summed(
    cluster: Cluster, spans: list[Span], files: dict[int, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_TASKS == 50_000
    monkeypatch.setattr("observatory.exchange.formats.report_spans.MOST_TASKS", 1_795)
    content = file_of(run_of(cluster, spans, 1_796)[0]).decode()
    assert 'data-path="/spans"' not in content
    assert 'data-path="/tiles/spans/' in content
    assert re.search(r"tasks shorter than [\d.]+ \w+ are summed", content)
    whole = files[1_796].decode()
    assert 'data-path="/tiles/spans/' not in whole
    assert "every recorded task is in it" in whole


@pytest.mark.browser
def test_the_page_draws_each_task_at_the_first_look_and_zoomed_in(
    files: dict[int, bytes], spans: list[Span], chromium: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "run.html"
    file.write_bytes(files[1_796])
    context = chromium.new_context(offline=True)
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    page.wait_for_function(f"() => ({ROWS})().keys === 1796")
    assert page.evaluate(ROWS)["busy"] == 0
    page.evaluate(
        "([start, stop]) => window.observatory.context.timeline.setWindow(start, stop)",
        [spans[0].start, spans[0].start + 4],
    )
    page.wait_for_function(f"() => 0 < ({ROWS})().keys && ({ROWS})().keys < 400")
    assert page.evaluate(ROWS)["busy"] == 0
    context.close()
