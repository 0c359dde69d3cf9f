"""Takes docs/screenshot.png: a real pass of the demo cluster, replayed after it ended (`make screenshot`)."""

from __future__ import annotations

from recorded_demo import ROOT, recorded_demo, show

WIDTH, HEIGHT = 1600, 1000
"""pixels"""
PLAYHEAD = 0.66
"""share of the run"""


def main() -> None:
    with recorded_demo(WIDTH, HEIGHT) as (page, cluster):
        show(page, cluster, PLAYHEAD)
        page.screenshot(path=ROOT / "docs/screenshot.png")


if __name__ == "__main__":
    main()
