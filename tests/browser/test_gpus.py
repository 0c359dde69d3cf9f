"""GPUs of a real cluster's workers: from NVML by the agent to charts and lanes, live and replayed."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from dask import config
from distributed import Client, LocalCluster
from playwright.sync_api import Page, expect

import observatory.agent as observatory_agent
from tests.agent.eventually import eventually
from tests.browser.observatory import Observatory
from tests.support.nvml.recorded import FOLDER, Machine, a100_in_parts, h100, t4

pytestmark = pytest.mark.browser

CHARTS = "task-stream,gpu-utilization,gpu-memory,gpu-power,gpu-temperature,workers-table"
WITH_UTILIZATION = [f"{worker} GPU {gpu}" for worker in "01" for gpu in (0, 1)]
"""a GPU in MIG mode has none"""
# the colours of a row of the task stream
PIXELS = """(canvas) => {
  const ratio = canvas.width / canvas.clientWidth;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const height = canvas.clientHeight / 4;
  const middle = Math.round((1.75 * height + 2) * ratio);
  const colours = new Set();
  for (let at = 0; at < canvas.width; at++) {
    const place = 4 * (middle * canvas.width + at);
    colours.add(data.slice(place, place + 3).join(" "));
  }
  return [...colours];
}"""


def work(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def test_gpus_of_workers_are_shown_live_and_replayed(
    observatory: Observatory, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path / "machine.json")
    machine.has(h100(utilization=90), t4(utilization=30), a100_in_parts())
    monkeypatch.setenv("FAKE_NVML", str(machine.path))
    monkeypatch.syspath_prepend(str(FOLDER))  # workers have the path of this process
    observatory.start()
    token = observatory.manage("ingest_token", "default").strip()
    with (
        config.set({"distributed.worker.multiprocessing-method": "spawn"}),  # to import pynvml anew
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        observatory_agent.register(client, url=observatory.url, token=token, name="with GPUs")
        client.gather(client.map(work, [0.5] * 8, pure=False))
        observatory.sign_in(page)
        page.goto(f"{observatory.url}/clusters/")
        page.get_by_role("link", name="with GPUs").first.click()
        page.wait_for_url("**/clusters/*/**")
        address = page.url.split("?")[0]
        page.goto(f"{address}?charts={CHARTS}")
        expect(page.locator("[data-chart=gpu-utilization] .legend li")).to_have_text(WITH_UTILIZATION)
        expect(page.locator("[data-chart=task-stream] canvas").first).to_have_attribute(
            "aria-label", "Task stream: 4 rows of 2 workers"
        )
        show(
            page, "gpu-memory", legend=[f"{worker} GPU {gpu}" for worker in "01" for gpu in ("0", "1", "2/0")]
        )
        show(page, "gpu-power", legend=[f"{worker} GPU {gpu}" for worker in "01" for gpu in (0, 2)])
        machine.has(h100(utilization=10, temperature=77), t4(utilization=0), a100_in_parts())
        show(page, "workers-table")
        expect(page.locator("[data-chart=workers-table]").get_by_text("77 °C")).to_have_count(2)
        client.gather(client.map(work, [0.5] * 4, pure=False))
    page.goto(f"{address}?charts={CHARTS}")  # the cluster is gone
    expect(page.locator("[data-chart=gpu-utilization] .legend li")).to_have_text(WITH_UTILIZATION)
    canvas = page.locator("[data-chart=task-stream] canvas").first
    eventually(lambda: len(canvas.evaluate(PIXELS)) > 2)  # it is drawn again while tiles come
    _hover_gpu_row(page)
    show(page, "gpu-temperature", legend=[f"{worker} GPU {gpu}" for worker in "01" for gpu in (0, 1, 2)])
    page.goto(f"{address}?charts=heat-map&heat=gpu")
    expect(page.locator("[data-chart=heat-map] canvas").first).to_have_attribute(
        "aria-label", re.compile(r"GPU utilization \(%\) of 2 workers; most: 0, [\d.]+ %")
    )
    expect(page.locator("[data-chart=heat-map] .chart-empty")).to_be_hidden()


def show(page: Page, chart: str, legend: list[str] | None = None) -> None:
    """What is out of sight isn't drawn."""
    found = page.locator(f"[data-chart={chart}]")
    found.scroll_into_view_if_needed()
    if legend is not None:
        expect(found.locator(".legend li")).to_have_text(legend)


def _hover_gpu_row(page: Page) -> None:
    """The second of four rows is that of the GPUs of the first worker."""
    canvas = page.locator("[data-chart=task-stream] canvas").first
    tooltip = page.locator("[data-chart=task-stream] .tooltip")

    def is_told() -> bool:
        """The chart moves as long as others are loaded."""
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box is not None
        page.mouse.move(0, 0)
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.375)
        page.wait_for_timeout(100)
        text = tooltip.inner_text() if tooltip.is_visible() else ""
        return "GPU of 0" in text and "busy" in text

    eventually(is_told)
