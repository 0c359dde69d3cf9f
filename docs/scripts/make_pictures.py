"""Takes docs/pictures/: each tab of a real pass of the demo cluster, after it ended (`make pictures`)."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page
from recorded_demo import ROOT, note_charts, recorded_demo, show

WIDTH, HEIGHT = 1200, 900
"""pixels"""
QUALITY = 70
"""of WebP: about 60 kB a picture"""
DRAWING = 2_000
"""milliseconds until charts that came into sight are drawn"""
SELECT = """(name) => {
  const { model, selection } = window.observatory.context;
  selection.set({ worker: [...model.workers.values()].find((worker) => worker.name === name).id });
}"""
FOLDER = ROOT / "docs/pictures"


@dataclass(frozen=True)
class View:
    """What a picture shows of its tab."""

    top: str
    """the chart below the overview"""
    playhead: float = 0.66
    """share of the cluster's time"""
    worker: str = ""
    """the name of the selected one"""


VIEWS = {
    "status": View("task-stream"),
    "tasks": View("states"),
    "workers": View("workers-table", worker="demo-2"),
    "transfers": View("transfer-matrix"),
    "graph": View("graph"),
    "memory": View("cluster-memory", playhead=0.85),
    "contention": View("gil"),
    "profile": View("profile"),
    "system": View("semaphores", playhead=0.17),
    "logs": View("log-counts", playhead=0.3),
    "why": View("findings"),
}
"""by tab"""


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with recorded_demo(WIDTH, HEIGHT) as (page, cluster):
        take_pictures(page, cluster)


def take_pictures(page: Page, cluster: str) -> None:
    for tab, view in VIEWS.items():
        show(page, f"{cluster}?tab={tab}", view.playhead)
        if view.worker:
            page.evaluate(SELECT, view.worker)
        for _ in range(3):  # charts above become higher once they are drawn
            scroll_to(page, view.top)
        picture = FOLDER / f"{tab}.webp"
        _save(page.screenshot(), picture)
        note_charts(page, picture)


def scroll_to(page: Page, chart: str) -> None:
    """Scrolls a chart to below the overview, which stays in sight, and waits until it is drawn."""
    page.locator(f"[data-chart={chart}]").evaluate(
        """(chart) => {
          const { height } = document.querySelector(".cluster-top").getBoundingClientRect();
          window.scrollBy({ top: chart.getBoundingClientRect().top - height, behavior: "instant" });
        }"""
    )
    page.wait_for_timeout(DRAWING)


def _save(picture: bytes, path: Path) -> None:
    with Image.open(BytesIO(picture)) as image:
        image.convert("RGB").save(path, "WEBP", quality=QUALITY, method=6)


if __name__ == "__main__":
    main()
