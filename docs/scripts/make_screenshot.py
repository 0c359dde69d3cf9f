"""Takes docs/screenshot.png: a real pass of the demo cluster, replayed after it ended (`make screenshot`)."""

from __future__ import annotations

from recorded_demo import ROOT, note_charts, recorded_demo, show

WIDTH, HEIGHT = 1600, 1000
"""pixels"""
PICTURE = ROOT / "docs/screenshot.png"
PLAYHEAD = 0.66
"""share of the run"""


def main() -> None:
    with recorded_demo(WIDTH, HEIGHT) as (page, cluster):
        show(page, cluster, PLAYHEAD)
        page.screenshot(path=PICTURE)
        note_charts(page, PICTURE)


if __name__ == "__main__":
    main()
