"""A cluster of more workers than fit on the screen: what is in sight is asked for, nothing is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import Action, MetricType, Sample, Series, Span, WorkerGone, WorkerSeen
from tests.support.projects import STARTED, World, make_run
from tests.support.tile_urls import layers_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WORKERS = 200
START = STARTED.timestamp()
READY = "() => document.documentElement.dataset.ready === '1' && !window.observatory.context.tiles.loading"
SHOWN = """() => {
  const words = document.querySelector("[data-chart=task-stream] canvas").getAttribute("aria-label");
  return Number(/of (\\d+) workers/.exec(words)[1]);
}"""


@pytest.fixture
def large(transactional_db: None, world: World) -> Iterator[str]:
    """The address of an ended cluster of 200 workers; each tenth loaded, the others summed up."""
    workers, spans, samples = [], [], []
    for number in range(WORKERS):
        address = f"tcp://10.0.0.1:{1000 + number}"
        workers.append(WorkerSeen(address, f"worker-{number}", "10.0.0.1", 2, 2**30, START))
        name = "load" if number % 10 == 0 else "sum"
        times = (START + 10, START + 11 + number / 10)
        spans.append(Span(address, 1, f"{name}-{number}", name, name, Action.COMPUTE, *times, 8, "int"))
        series = Series("observatory_worker_memory_bytes", (("type", "process"),), address, MetricType.GAUGE)
        samples += [Sample(series, START + second, 1e6 * (number + 1)) for second in range(40)]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, workers, spans, samples, committed=START + 100))
    yield f"/clusters/{world.ended.pk}/"
    delete_cluster(world.ended.pk)


@pytest.fixture
def asked(page: Page) -> list[str]:
    """The layers that were asked for, in order, each once."""
    found: list[str] = []

    def note(url: str) -> None:
        found.extend(layer for layer in dict.fromkeys(layers_of(url)) if layer not in found)

    page.on("request", lambda request: note(request.url))
    return found


def of_spans(asked: list[str]) -> list[str]:
    return sorted(layer for layer in asked if layer.startswith("spans"))


def test_only_the_bands_of_the_rows_in_sight_are_asked_for(page: Page, large: str, asked: list[str]) -> None:
    page.goto(large)
    page.wait_for_function(READY)
    assert page.evaluate(SHOWN) == WORKERS
    assert of_spans(asked) == ["spans"]
    with page.expect_response(lambda response: "spans.3" in layers_of(response.url)):
        page.locator(".lane-scroller").evaluate("element => element.scrollTo(0, element.scrollHeight)")
    page.wait_for_function(READY)
    assert of_spans(asked) == ["spans", "spans.2", "spans.3"]


def test_who_was_busiest_is_told_from_the_sums_of_each_worker(
    page: Page, large: str, asked: list[str]
) -> None:
    page.goto(f"{large}?sort=busiest")
    page.wait_for_function(READY)
    assert of_spans(asked) == ["spans.each"]
    assert page.get_by_label("Sort").input_value() == "busiest"


def test_only_the_workers_at_work_on_the_selected_prefix_have_rows(page: Page, large: str) -> None:
    page.goto(large)
    page.wait_for_function(READY)
    only = page.get_by_label("only those that ran")
    assert not only.is_visible()
    page.evaluate(
        """() => {
          const { model, selection } = window.observatory.context;
          selection.set({ prefix: [...model.prefixes.values()].find(prefix => prefix.name === "load").id });
        }"""
    )
    page.get_by_label("only those that ran load").check()
    page.wait_for_function(f"() => ({SHOWN})() === {WORKERS // 10}")
    page.wait_for_url(re.compile("only=prefix"))
    page.get_by_role("searchbox", name="Workers", exact=True).fill("worker-1")
    page.wait_for_function(f"() => ({SHOWN})() === 11")  # 10, and 100 to 190
    page.wait_for_url(re.compile("rows=worker-1"))
    page.reload()
    page.wait_for_function(READY)
    page.wait_for_function(f"() => ({SHOWN})() === 11")


def test_lines_of_all_workers_are_one_from_the_least_to_the_most_and_the_selected_ones_own(
    page: Page, large: str, asked: list[str]
) -> None:
    page.goto(f"{large}?charts=memory")
    page.wait_for_function(READY)
    chart = page.locator("[data-chart=memory]")
    assert chart.locator(".legend li").all_inner_texts() == ["200 workers: mean, least and most"]
    assert "memory.all" in asked
    assert "memory" not in asked
    page.evaluate(
        """() => {
          const { model, selection } = window.observatory.context;
          const worker = [...model.workers.values()].find(worker => worker.name === "worker-150");
          selection.set({ worker: worker.id });
        }"""
    )
    chart.get_by_role("button", name="worker-150").wait_for()
    assert "memory.2" in asked
    words = chart.locator("canvas").get_attribute("aria-label") or ""
    assert "worker-150 144.0 MiB" in words
    assert "mean, least and most 95.8 MiB" in words


def test_what_is_new_at_the_playhead_draws_the_rows_again_only_if_it_orders_them(
    page: Page, large: str
) -> None:
    page.goto(large)
    page.wait_for_function(READY)
    page.wait_for_function("() => window.observatory.context.playheadState.state")
    page.route("**/state?*", lambda route: None)  # states that are requested here don't arrive
    # of five times the least: tiles that come late are drawn, too
    again = """async () => {
      const { context } = window.observatory;
      let drawn = 0;
      const canvas = CanvasRenderingContext2D.prototype;
      const put = canvas.putImageData;
      canvas.putImageData = function (...image) {
        if (this.canvas.closest("[data-chart=task-stream]")) drawn++;
        put.apply(this, image);
      };
      const least = [];
      for (let time = 0; time < 5; time++) {
        drawn = 0;
        context.playheadState.receive({ ...context.playheadState.state });
        context.playheadState.request(context.info.first, { live: true, playing: false });
        for (let frame = 0; frame < 3; frame++) await new Promise(resolve => requestAnimationFrame(resolve));
        least.push(drawn);
      }
      canvas.putImageData = put;
      return Math.min(...least);
    }"""
    assert page.evaluate(again) == 0
    page.get_by_label("Sort").select_option("most memory")
    page.wait_for_function(READY)
    assert page.evaluate(again) == 1


def test_the_machines_of_many_workers_are_asked_for_together(
    page: Page, large: str, asked: list[str]
) -> None:
    page.goto(f"{large}?tab=system&charts=network-received,file-descriptors")
    page.wait_for_function(READY)
    assert {"network.all", "descriptors.all"} <= set(asked)
    assert not {"network", "descriptors"} & set(asked)


@pytest.fixture
def late_run(transactional_db: None, world: World) -> Iterator[str]:
    """The address of a run of the 200th worker and two more, after all others have gone."""
    seen, gone, samples, spans = [], [], [], []
    for number in range(WORKERS + 2):
        address, is_late = f"tcp://10.0.0.1:{1000 + number}", number >= WORKERS - 1
        since = START + (60 if is_late else 0)
        seen.append(WorkerSeen(address, f"worker-{number}", "10.0.0.1", 2, 2**30, since))
        if not is_late:
            gone.append(WorkerGone(address, START + 50, "retired"))
            continue
        spans.append(
            Span(address, 1, f"load-{number}", "load", "load", Action.COMPUTE, since, since + 9, 8, "int")
        )
        for metric, labels in (
            ("observatory_worker_memory_bytes", (("type", "process"),)),
            ("observatory_worker_cpu_percent", ()),
        ):
            series = Series(metric, labels, address, MetricType.GAUGE)
            samples += [Sample(series, since + second, 2.0**20 * (number + 1)) for second in range(20)]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, seen[: WORKERS - 1], gone=gone, committed=START + 55))
        writer.write(Batch.of(world.ended.pk, seen[WORKERS - 1 :], spans, samples, committed=START + 100))
    begin = (START + 60 - world.ended.started.timestamp()) / 60
    yield f"/runs/{make_run(world.ended, 'late', at=begin, minutes=0.4).pk}/"
    delete_cluster(world.ended.pk)


def test_the_few_workers_of_a_run_have_lines_whatever_came_and_went_before(
    page: Page, late_run: str, asked: list[str]
) -> None:
    names = [f"worker-{number}" for number in range(WORKERS - 1, WORKERS + 2)]
    page.goto(f"{late_run}?charts=memory,cpu,heat-map,task-stream")
    page.wait_for_function(READY)
    for chart in ("memory", "cpu"):
        expect(page.locator(f"[data-chart={chart}] .legend li")).to_have_text(names)
    words = page.locator("[data-chart=memory] canvas").get_attribute("aria-label") or ""
    assert "worker-200 201.0 MiB" in words
    assert {"memory.3", "cpu.3", "spans.3"} <= set(asked)
    assert not {"memory", "memory.all", "cpu.all"} & set(asked)
    assert page.evaluate(SHOWN) == len(names)
    page.get_by_text("memory (bytes) of 3 workers").wait_for()
