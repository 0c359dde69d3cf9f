"""A real agent's profile as a flame graph, live and after the cluster is gone."""

from __future__ import annotations

import time

import pytest
from distributed import Client, LocalCluster
from playwright.sync_api import Page

import observatory.agent as observatory_agent
from tests.browser.observatory import Observatory
from tests.support.tile_urls import layers_of

pytestmark = pytest.mark.browser

# of the frames that are drawn: samples of the function, and of all
SAMPLES = """name => {
  const row = [...document.querySelectorAll(".flame-table tbody tr:not([hidden])")]
    .find(row => row.cells[0].textContent === name);
  const words = document.querySelector(".flame-heading")?.textContent ?? "0";
  return row && [Number.parseFloat(row.cells[3].textContent), Number.parseInt(words.replace(/,/g, ""), 10)];
}"""
# how many pixels of a canvas aren't empty
INK = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let ink = 0;
  for (let at = 3; at < data.length; at += 4) ink += data[at] > 0;
  return ink;
}"""


def sum_slowly(seconds: float) -> int:
    deadline = time.monotonic() + seconds
    total = 0
    while time.monotonic() < deadline:
        total += sum(range(1000))
        time.sleep(0.005)  # it is sampled all the same
    return total


def work_until_shown(client: Client, page: Page, samples: int) -> tuple[float, int]:
    """Works until the page shows so many samples, of which a busy machine takes few a second."""
    for _ in range(60):
        client.gather(client.map(sum_slowly, [1.0, 1.1], pure=False))
        shown = page.evaluate(SAMPLES, "sum_slowly")
        if shown and shown[1] >= samples:
            return shown[0], shown[1]
    raise AssertionError(f"the page doesn't show {samples} samples: {shown}")


def show_profile(page: Page, more: int) -> tuple[float, int]:
    """Return the share of sum_slowly in percent and the number of samples, once there are `more`."""
    page.wait_for_function(f"name => (({SAMPLES})(name)?.[1] ?? 0) >= {more}", arg="sum_slowly")
    percent, count = page.evaluate(SAMPLES, "sum_slowly")
    return percent, count


def test_a_profile_is_shown_live_and_replayed_exactly(observatory: Observatory, page: Page) -> None:
    observatory.start()
    token = observatory.manage("ingest_token", "default").strip()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        observatory_agent.register(client, url=observatory.url, token=token, name="profiled")
        observatory.sign_in(page)
        client.gather(client.map(sum_slowly, [2.0, 2.1], pure=False))
        asked: list[str] = []
        page.on("request", lambda request: asked.extend(layers_of(request.url)))
        page.goto(f"{observatory.url}/clusters/")
        with page.expect_response(lambda response: "spans" in layers_of(response.url)):
            page.get_by_role("link", name="profiled").first.click()
        page.wait_for_timeout(500)
        assert "profile" not in asked, "what is out of sight isn't fetched"
        address = page.url.split("?")[0]
        page.goto(f"{address}?charts=profile")
        _, before = work_until_shown(client, page, samples=30)
        percent, _ = work_until_shown(client, page, samples=before + 30)
        assert percent > 80
        assert page.locator(".flame-scroller canvas").evaluate(INK) > 1000
        time.sleep(3)

    page.get_by_text("ended", exact=False).first.wait_for()
    stored = observatory.query("select sum(count) from profile where source = 0")
    page.goto(f"{address}?charts=profile")
    percent, _ = show_profile(page, more=1)
    page.wait_for_function(f"name => (({SAMPLES})(name)?.[1] ?? 0) === {stored}", arg="sum_slowly")
    assert percent > 80
