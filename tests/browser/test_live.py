"""Tasks of a cluster appear on an open page within a second."""

from __future__ import annotations

import math
import statistics
import time
import uuid
from typing import Any

import pytest
from distributed import Client, LocalCluster
from playwright.sync_api import Page

from tests.browser.observatory import Observatory

pytestmark = pytest.mark.browser

MOST_SECONDS = 1.0
MARKERS, ROUNDS = 9, 10

# looks at each frame whether the marker's span is among what the task stream draws; says when it first was
WATCH = """prefix => {
  window.seen = null;
  const look = () => {
    const drawn = window.observatory.view?.tiles.spans ?? [];
    const found = drawn.some(tile => (tile.blocks.get("span") ?? []).some(block => {
      const keys = block.texts("key");
      for (let row = 0; row < block.rows; row++) if (keys.at(row).startsWith(prefix)) return true;
      return false;
    }));
    if (found) window.seen = Date.now() / 1000;
    else requestAnimationFrame(look);
  };
  look();
}"""

# notes when a page first requests tiles, and when its socket first brings something
NOTE = """
  window.noted = {};
  const send = window.fetch;
  window.fetch = (url, ...options) => {
    if (String(url).includes("/tiles")) window.noted.tiles ??= performance.now();
    return send(url, ...options);
  };
  window.WebSocket = class extends window.WebSocket {
    constructor(...options) {
      super(...options);
      this.addEventListener("message", () => (window.noted.frame ??= performance.now()));
    }
  };
"""
LONGEST_CONNECTING = 1_500
"""milliseconds that a page waits for its socket (frontend/pages/cluster/live.js)"""


def _mark(pause: float) -> float:
    time.sleep(pause)
    return time.time()


def test_a_task_appears_on_the_open_page_within_a_second_of_its_end(
    observatory: Observatory, page: Page
) -> None:
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        observatory.start()
        observatory.watch(cluster.dashboard_link.removesuffix("/status"), "latency")
        observatory.sign_in(page)
        page.add_init_script(NOTE)
        page.goto(f"{observatory.url}/clusters/")
        page.get_by_role("link", name="latency").first.click()
        page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
        noted = page.evaluate("() => window.noted")
        # before, all of these tiles would be requested twice
        assert noted.get("tiles", math.inf) >= min(noted["frame"], LONGEST_CONNECTING), noted
        medians: list[float] = []
        # a machine that is busy with something else is given time to get over it
        while len(medians) < ROUNDS and min(medians, default=MOST_SECONDS) >= MOST_SECONDS:
            medians.append(statistics.median(_delay(client, page) for _ in range(MARKERS)))
    assert min(medians) < MOST_SECONDS, medians


def _delay(client: Client, page: Page) -> float:
    """Return the seconds from the end of a marker task until the page has it."""
    prefix = f"marker-{uuid.uuid4().hex[:8]}"
    page.evaluate(WATCH, prefix)
    ended: Any = client.submit(_mark, 0.05, key=f"{prefix}-1").result()
    page.wait_for_function("() => window.seen !== null")
    seen: float = page.evaluate("() => window.seen")
    return seen - float(ended)
