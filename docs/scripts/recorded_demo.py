"""A pass of the demo cluster, replayed after it ended: what the pictures of the documents show."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from tests.browser.observatory import Observatory  # noqa: E402
from tests.support.chromium import ARGUMENTS, NAMES, TIMEOUT  # noqa: E402

PASS = 480
"""seconds that a pass of the demo and its end may take"""
LOADED = "() => document.documentElement.dataset.ready === '1' && !document.querySelector('.panel.is-stale')"
CHARTS = ROOT / "docs/pictures/charts.json"
"""the names of the charts that each picture's page has: a test says when the page has others"""
SETTLING = 4_000
"""milliseconds until what was loaded last is drawn"""


@contextmanager
def recorded_demo(width: int, height: int) -> Iterator[tuple[Page, str]]:
    """Yields a page of that size (pixels), signed in, and the address of the ended cluster."""
    executable = next(found for name in NAMES if (found := shutil.which(name)))
    observatory = Observatory(Path(tempfile.mkdtemp(prefix="observatory-pictures-")) / "data")
    observatory.start("--demo-once")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": width, "height": height})
            page.set_default_timeout(TIMEOUT)
            observatory.sign_in(page)
            yield page, f"{observatory.url}/clusters/{_ended_cluster(page, observatory.url)}/"
            browser.close()
    finally:
        observatory.stop()


def _ended_cluster(page: Page, url: str) -> int:
    """Waits for the end of the demo's cluster, and returns its id."""
    deadline = time.monotonic() + PASS
    while time.monotonic() < deadline:
        clusters = page.request.get(f"{url}/api/v1/clusters").json()
        for cluster in clusters.get("items", clusters):
            if cluster["ended"]:
                return int(cluster["id"])
        time.sleep(2)
    raise TimeoutError(f"the demo has not ended after {PASS} s")


def note_charts(page: Page, picture: Path) -> None:
    """Keeps which charts the page has that a picture shows."""
    names = page.evaluate(
        "() => [...document.querySelectorAll('[data-chart]')].map((one) => one.dataset.chart)"
    )
    noted = json.loads(CHARTS.read_text()) if CHARTS.exists() else {}
    noted[str(picture.relative_to(ROOT))] = sorted(names)
    CHARTS.write_text(json.dumps(noted, indent=1, sort_keys=True) + "\n")


def show(page: Page, address: str, share: float) -> None:
    """Opens a timeline with the playhead at that share of its window, and waits until it is drawn."""
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
    page.evaluate(
        """(share) => {
          const { timeline } = window.observatory.context;
          timeline.setPlayhead(timeline.start + share * (timeline.stop - timeline.start));
        }""",
        share,
    )
    page.wait_for_function(LOADED)
    page.wait_for_timeout(SETTLING)
