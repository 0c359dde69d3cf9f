"""The heat map of 200 workers: the one that leaks is named, selected, and found by the keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import Action, MetricType, Sample, Series, Span, Status, WorkerSeen
from tests.support.projects import STARTED, World
from tests.support.tile_urls import layers_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WORKERS, LEAKING, SLOW, HOSTILE = 200, 77, 123, "<img src=x onerror=alert(1)>"
START = STARTED.timestamp()
READY = "() => document.documentElement.dataset.ready === '1' && !window.observatory.context.tiles.loading"
SELECTED = """() => {
  const { model, selection } = window.observatory.context;
  return model.workers.get(selection.worker)?.name ?? null;
}"""


@pytest.fixture
def large(transactional_db: None, world: World) -> Iterator[str]:
    """The address of an ended cluster of 200 workers on 10 hosts, of which one leaks and one is slow."""
    workers, spans, samples = [], [], []
    for number in range(WORKERS):
        address = f"tcp://10.0.0.{number // 20}:{1000 + number}"
        name = HOSTILE if number == LEAKING else f"worker-{number}"
        zone = {"surroundings": {"INSTANCE_TYPE": "large" if number % 2 else "small"}}
        host = f"host-{number // 20}"
        workers.append(WorkerSeen(address, name, host, 2, 2**30, START, detail=zone))
        length = 3 if number == SLOW else 1
        for task in range(0, 30, 4):
            times = (START + 5 + task, START + 5 + task + length)
            status = Status.ERROR if number == 5 else Status.OK
            key = f"sum-{number}-{task}"
            spans.append(Span(address, 1, key, "sum", "sum", Action.COMPUTE, *times, 8, "int", status))
        series = Series("observatory_worker_memory_bytes", (("type", "process"),), address, MetricType.GAUGE)
        grows = 5e7 if number == LEAKING else 1e6
        samples += [Sample(series, START + second, 1e9 + grows * second) for second in range(40)]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, workers, spans, samples, committed=START + 100))
    yield f"/clusters/{world.ended.pk}/?from={START}&to={START + 60}"
    delete_cluster(world.ended.pk)


def test_the_worker_that_leaks_is_first_and_a_click_selects_it(
    page: Page, large: str, complaints: list[str]
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.extend(layers_of(request.url)))
    page.goto(f"{large}&charts=heat-map&by=none")
    page.wait_for_function(READY)
    chart = page.locator("[data-chart=heat-map]")
    expect(chart.locator("canvas")).to_have_attribute(
        "aria-label", re.compile(f"200 workers; most: {re.escape(HOSTILE)}, 1.* GiB")
    )
    assert "memory.each" in asked
    assert not [layer for layer in asked if re.fullmatch(r"memory(\.\d+)?", layer)], "no bands"
    rows = chart.locator(".heat-map")
    rows.click(position={"x": 400, "y": 75})
    assert page.evaluate(SELECTED) == HOSTILE
    expect(rows).to_have_attribute("aria-valuetext", re.compile(r"on host-3: 1\.\d+ GiB"))
    expect(chart.locator(".tooltip")).to_contain_text("all: median")
    rows.click(position={"x": 400, "y": 75})
    assert page.evaluate(SELECTED) is None
    assert complaints == []


def test_rows_are_reached_by_the_keyboard_and_read_in_the_table(page: Page, large: str) -> None:
    page.goto(f"{large}&charts=heat-map&heat=duration&by=none")
    page.wait_for_function(READY)
    chart = page.locator("[data-chart=heat-map]")
    rows = chart.get_by_role("slider", name="Selected worker of the heat map")
    rows.focus()
    start = page.evaluate("() => window.observatory.context.timeline.length")
    rows.press("ArrowDown")
    assert page.evaluate(SELECTED) == f"worker-{SLOW}"
    expect(rows).to_have_attribute("aria-valuetext", re.compile(r"3\.0\d ×|2\.9\d ×"))
    rows.press("End")
    assert page.evaluate(SELECTED) not in (None, f"worker-{SLOW}")
    assert page.evaluate("() => window.observatory.context.timeline.length") == start, "it doesn't zoom"
    chart.get_by_label("Heat map of workers: table, CSV, picture").click()
    chart.get_by_role("button", name="Show as table").click()
    first = page.locator("dialog tbody tr").first
    expect(first).to_contain_text(f"worker-{SLOW}")
    expect(page.locator("dialog thead")).to_contain_text("mean (× median of the prefix)")


def test_quantity_groups_and_order_are_in_the_address(page: Page, large: str) -> None:
    page.goto(f"{large}&charts=heat-map")
    page.wait_for_function(READY)
    chart = page.locator("[data-chart=heat-map]")
    expect(chart.get_by_label("Group")).to_have_value("host")
    chart.get_by_label("Show").select_option("errors")
    chart.get_by_label("Group").select_option("INSTANCE_TYPE")
    chart.get_by_label("Order").select_option("name")
    page.wait_for_url(re.compile("heat=errors&by=INSTANCE_TYPE&rank=name"))
    expect(chart.locator("canvas")).to_have_attribute("aria-label", re.compile("most: worker-5, 8"))
    page.reload()
    page.wait_for_function(READY)
    expect(chart.get_by_label("Show")).to_have_value("errors")
    expect(chart.get_by_label("Group")).to_have_value("INSTANCE_TYPE")


def test_what_is_not_recorded_is_said(page: Page, large: str) -> None:
    page.goto(f"{large}&charts=heat-map&heat=gil")
    page.wait_for_function(READY)
    expect(page.locator("[data-chart=heat-map]")).to_contain_text("install `gilknocker`")
