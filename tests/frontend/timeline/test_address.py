"""The address says what is on the screen; what it can't mean is ignored."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.frontend.timeline.make import FIRST, INFO


def parse(page: Page, query: str) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(
        """async query => (await import("/frontend/timeline/address.js")).parsePlace(query)""", query
    )
    return {name: value for name, value in found.items() if value is not None}


def test_an_address_that_was_copied_shows_the_same(page: Page) -> None:
    same = page.evaluate(
        """async info => {
          const address = await import("/frontend/timeline/address.js");
          const { applyPlace, currentPlace, formatPlace, parsePlace } = address;
          const { Timeline } = await import("/frontend/timeline/timeline.js");
          const { Selection } = await import("/frontend/timeline/selection.js");
          const { Arrangement } = await import("/frontend/timeline/arrangement.js");
          const open = () => [new Timeline(info, () => 0), new Selection(), new Arrangement()];
          const [timeline, selection, arrangement] = open();
          arrangement.set({ order: "most memory", filter: "lost & <b>", ofPrefix: true });
          timeline.setWindow(info.first + 100.25, info.first + 160.5);
          timeline.setPlayhead(info.first + 123.456);
          timeline.setSpeed(4);
          selection.set({ prefix: 7, key: "('x', 1)&at=<b>" });
          const charts = ["task-stream", "memory"];
          const query = formatPlace(currentPlace(timeline, selection, arrangement, charts));
          const [other, chosen, arranged] = open();
          const place = parsePlace(query);
          applyPlace(place, other, chosen, arranged);
          return [query === formatPlace(currentPlace(other, chosen, arranged, place.charts)), chosen.key,
            [arranged.order, arranged.filter, arranged.ofPrefix]];
        }""",
        INFO,
    )
    assert same[0] is True
    assert same[1] == "('x', 1)&at=<b>"
    assert same[2] == ["most memory", "lost & <b>", True]


def test_a_live_address_follows_now_with_a_window_as_long(page: Page) -> None:
    length, live = page.evaluate(
        """async info => {
          const { applyPlace, parsePlace } = await import("/frontend/timeline/address.js");
          const { Timeline } = await import("/frontend/timeline/timeline.js");
          const { Selection } = await import("/frontend/timeline/selection.js");
          const timeline = new Timeline(info, () => 0);
          const { Arrangement } = await import("/frontend/timeline/arrangement.js");
          applyPlace(parsePlace("?live=120"), timeline, new Selection(), new Arrangement());
          return [timeline.length, timeline.live];
        }""",
        INFO,
    )
    assert (length, live) == (pytest.approx(120), True)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?from=1&to=2&at=3",
        f"?from={FIRST}",
        f"?from={FIRST + 1}&to={FIRST}",
        "?from=NaN&to=Infinity&at=1e999",
        "?speed=3&live=-1&worker=x&prefix=1.5&worker=",
        "?at=&live=&speed=",
        "?sort=color&rows=&only=1",
        "?key=" + "x" * 3000,
        "?%E0%A4%A",
    ],
)
def test_what_makes_no_sense_is_ignored(page: Page, query: str) -> None:
    assert parse(page, query) == {}


def test_charts_are_names_and_nothing_else(page: Page) -> None:
    assert parse(page, "?charts=task-stream,<img>,memory,,")["charts"] == ["task-stream", "memory"]
