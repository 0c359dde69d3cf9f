"""Takes docs/replay.webp: a real pass of the demo cluster that is replayed and zoomed into (`make film`).

Each frame is a picture of the page with the playhead at its instant, so that the film does not stutter where
this machine does. It is an animated WebP: a GIF takes five times the room, and a README can't show WebM.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from PIL import Image
from playwright.sync_api import Page
from recorded_demo import LOADED, ROOT, note_charts, recorded_demo, show

WIDTH, HEIGHT = 1400, 1000
"""pixels of the page"""
SHOWN = (980, 700)
"""pixels of the film"""
FRAME, LAST_FRAME = 150, 2_000
"""milliseconds"""
QUALITY = 60
FILM = ROOT / "docs/replay.webp"
BEGIN = 0.04
"""share of the cluster's time"""
PAINTING = 120
"""milliseconds until what has come is drawn"""
MOVE = """([zoom, move]) => {
  const { timeline } = window.observatory.context;
  if (zoom !== 1) timeline.zoom(zoom, timeline.playhead);
  timeline.setPlayhead(timeline.playhead + move * (timeline.stop - timeline.start));
}"""


@dataclass(frozen=True)
class Scene:
    frames: int
    move: float
    """share of the window that the playhead moves in a frame"""
    zoom: float = 1.0
    """length of the window, relative to that of the frame before"""


SCENES = (Scene(24, move=0.023), Scene(8, move=0.0, zoom=0.76), Scene(20, move=0.015))


def main() -> None:
    with recorded_demo(WIDTH, HEIGHT) as (page, cluster):
        show(page, cluster, BEGIN)
        save(list(take_frames(page)))
        note_charts(page, FILM)


def take_frames(page: Page) -> Iterator[Image.Image]:
    for scene in SCENES:
        for _ in range(scene.frames):
            page.evaluate(MOVE, [scene.zoom, scene.move])
            page.wait_for_timeout(PAINTING)
            page.wait_for_function(LOADED)
            with Image.open(BytesIO(page.screenshot())) as picture:
                yield picture.convert("RGB").resize(SHOWN, Image.Resampling.LANCZOS)


def save(frames: list[Image.Image]) -> None:
    first, *others = frames
    durations = [FRAME] * len(others) + [LAST_FRAME]
    first.save(FILM, save_all=True, append_images=others, duration=durations, loop=0, quality=QUALITY)


if __name__ == "__main__":
    main()
