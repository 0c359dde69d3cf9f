"""Takes docs/screenshot.png: a real pass of the demo cluster, replayed after it ended (`make screenshot`)."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from tests.browser.observatory import Observatory  # noqa: E402
from tests.chromium import ARGUMENTS, NAMES  # noqa: E402

PASS = 480
"""seconds that a pass of the demo and its end may take"""


def main() -> None:
    executable = next(found for name in NAMES if (found := shutil.which(name)))
    observatory = Observatory(Path(tempfile.mkdtemp(prefix="observatory-screenshot-")) / "data")
    observatory.start("--demo-once")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            observatory.sign_in(page)
            _open_ended(page, observatory.url)
            page.screenshot(path=ROOT / "docs/screenshot.png")
            browser.close()
    finally:
        observatory.stop()


def _open_ended(page: Page, url: str) -> None:
    """Opens the demo's cluster once it has ended, its playhead two thirds through the run."""
    deadline = time.monotonic() + PASS
    while time.monotonic() < deadline:
        clusters = page.request.get(f"{url}/api/v1/clusters").json()
        ended = [cluster for cluster in clusters.get("items", clusters) if cluster["ended"]]
        if ended:
            break
        time.sleep(2)
    page.goto(f"{url}/clusters/{ended[0]['id']}/")
    page.wait_for_selector("html[data-ready]", state="attached")
    page.evaluate(
        """() => {
          const { timeline } = window.observatory.context;
          timeline.setPlayhead(timeline.start + 0.66 * (timeline.stop - timeline.start));
        }"""
    )
    time.sleep(4)


if __name__ == "__main__":
    main()
